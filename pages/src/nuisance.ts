/** The page of a bijective classifier: move what it ignores from one image towards another, and watch its logits. */

import { about } from "./about";
import { h, percent } from "./dom";
import { Latest } from "./explorer";
import { fromImage } from "./explain";
import { loadBytes } from "./files";
import { Tiles } from "./gallery";
import { shortcuts } from "./keys";
import { layOut } from "./layout";
import { Network } from "./model";
import { fromBytes, fromTensor, paint } from "./pixels";
import { Tabs } from "./tabs";
import { toggleTheme } from "./theme";
import type { NuisanceData, RunData } from "./types";

type Slot = "x" | "donor";

export async function nuisancePage(main: HTMLElement, run: RunData, nuisance: NuisanceData, assets: string): Promise<void> {
  const images = await loadBytes("images");
  const view = new Nuisance(run, nuisance, images, await Network.open("encoder", assets), await Network.open("decoder", assets));
  const tabs = new Tabs([
    { id: "nuisance", title: "What it ignores", element: view.element },
    { id: "about", title: "About", element: about(run) },
  ]);
  const help = shortcuts([
    ["X", "the next image chosen is x", () => view.choose("x")],
    ["D", "the next image chosen is the donor", () => view.choose("donor")],
    ["Space", "let the nuisance run there and back, or stop it", () => view.play()],
    ["N", "what it ignores", () => tabs.show("nuisance")],
    ["A", "about this run", () => tabs.show("about")],
    ["T", "light or dark", toggleTheme],
  ]);
  layOut(main, run, [view.showing, h("section", { class: "gallery" }, h("div", { class: "tools" }, h("h2", {}, "Images")), view.tiles.element)], tabs, help);
  Object.assign(window, { view, tabs });
  await view.put("x", 0);
  document.body.dataset.ready = "yes";
}

class Nuisance {
  readonly element: HTMLElement;
  readonly showing: HTMLElement;
  readonly tiles: Tiles;
  /** How far the nuisance has moved, from 0 to 1. */
  t = 0;
  /** Logits of the picture shown, computed from the picture. */
  logits: number[] = [];
  private places: Record<Slot, number>;
  private chosen: Slot = "donor";
  private outputs: Partial<Record<Slot, Float32Array>> = {};
  private picture = h("canvas", { class: "pixels", id: "picture", role: "img", "aria-label": "Image with the logits of x and a nuisance on the way to the donor’s" });
  private slots: Record<Slot, HTMLButtonElement>;
  private slider = h("input", { type: "range", min: 0, max: 1, step: 0.01, value: 0, "aria-label": "Nuisance, from that of x to that of the donor", oninput: () => (this.stop(), this.move(Number(this.slider.value))) });
  private rows: { bar: HTMLElement; mark: HTMLElement; logit: HTMLElement; share: HTMLElement; element: HTMLElement }[];
  private verdict = h("p", { class: "verdict", role: "status" });
  private latest = new Latest();
  private playing = 0;
  private button = h("button", { type: "button", class: "quiet play", "aria-label": "Play", "aria-pressed": "false", onclick: () => this.play() }, "▶");

  constructor(
    private run: RunData,
    private about: NuisanceData,
    private images: Uint8Array,
    private there: Network,
    private back: Network,
  ) {
    const { truth } = about;
    const other = truth ? truth.findIndex((label) => label !== truth[0]) : 1;
    this.places = { x: 0, donor: Math.max(0, Math.min(other < 0 ? 1 : other, run.gallery!.index.length - 1)) };
    this.tiles = new Tiles(run.gallery!.index.length, (at) => fromBytes(images, about.shape, at), (at) => this.describe(at), (at) => void this.put(this.chosen, at));
    this.slots = { x: this.slot("x", "x"), donor: this.slot("donor", "Donor") };
    this.rows = about.classes.map(() => ({ bar: h("i", {}), mark: h("u", {}), logit: h("td", { class: "number" }), share: h("td", { class: "number" }), element: h("tr", {}) }));
    this.rows.forEach((row, c) => row.element.append(h("th", { scope: "row" }, about.classes[c]), h("td", { class: "wide" }, h("span", { class: "meter" }, row.bar, row.mark)), row.share, row.logit));
    const box = h("div", { class: "stage" }, this.picture);
    const [height, width] = about.shape;
    new ResizeObserver(() => {
      const dense = window.devicePixelRatio || 1;
      const scale = Math.max(1, Math.floor((box.clientWidth * dense) / width));
      this.picture.style.width = `${(scale * width) / dense}px`;
      this.picture.style.height = `${(scale * height) / dense}px`;
    }).observe(box);
    this.showing = h(
      "section",
      { class: "showing" },
      box,
      h("div", { class: "mover" }, this.slider, h("div", { class: "ends" }, h("span", {}, "nuisance of x"), this.button, h("span", {}, "of the donor"))),
    );
    const count = about.classes.length;
    this.element = h(
      "div",
      { class: "nuisance" },
      h("div", { class: "pair" }, this.slots.x, h("span", { "aria-hidden": "true" }, "→"), this.slots.donor),
      this.verdict,
      h("table", { class: "logits" }, h("thead", {}, h("tr", {}, ...["Class", "Probability", "", "Logit"].map((text) => h("th", { scope: "col" }, text)))), h("tbody", {}, ...this.rows.map((row) => row.element))),
      h("p", { class: "hint" }, "Choose x or the donor, then an image on the left to fill it, and move the slider under the picture. Marks on the bars are the probabilities of x."),
      h(
        "p",
        { class: "hint" },
        `This classifier is one-to-one: of its ${about.size.toLocaleString("en")} outputs the first ${count} are the logits, and the other ${(about.size - count).toLocaleString("en")}, the nuisance, say all the rest. ` +
          "The picture is the inverse of the logits of x joined with (1 − t) of its own nuisance and t of the donor’s; its logits are computed anew from the picture. " +
          `Values beyond black and white are shown as black and white, and count as they are.${about.margins ? " The network sees the image with black margins, which are shown too." : ""}`,
      ),
    );
    this.choose("donor");
  }

  /** Which of the two the next image fills. */
  choose(slot: Slot): void {
    this.chosen = slot;
    for (const each of ["x", "donor"] as const) this.slots[each].setAttribute("aria-pressed", String(each === slot));
    this.tiles.mark(this.places[slot]);
  }

  async put(slot: Slot, at: number): Promise<void> {
    this.places[slot] = at;
    this.tiles.mark(this.places[this.chosen]);
    for (const each of ["x", "donor"] as const) {
      const place = this.places[each];
      paint(this.slots[each].querySelector("canvas")!, fromBytes(this.images, this.about.shape, place));
      this.slots[each].setAttribute("aria-label", `${each === "x" ? "x" : "Donor"}: ${this.describe(place)}`);
      this.outputs[each] = await this.there.run(fromImage(this.images, this.about.shape, place), this.batch());
    }
    await this.move(this.t);
  }

  /** Show the image whose nuisance is `t` of the way to the donor's. */
  async move(t: number): Promise<void> {
    this.t = t;
    if (Number(this.slider.value) !== t) this.slider.value = String(t);
    const busy = this.latest.next();
    const { x, donor } = this.outputs;
    if (!x || !donor) return;
    const count = this.about.classes.length;
    const merged = x.map((value, k) => (k < count ? value : (1 - t) * value + t * donor[k]));
    const image = await this.back.run(merged, [1, merged.length]);
    if (busy()) return;
    const again = await this.there.run(Float32Array.from(image), this.batch());
    if (busy()) return;
    paint(this.picture, fromTensor(image, this.about.shape));
    this.logits = Array.from(again.subarray(0, count));
    this.tell(Array.from(x.subarray(0, count)));
    this.picture.dataset.drawn = `${this.places.x},${this.places.donor},${t}`;
  }

  /** Let the nuisance go there and back. */
  play(): void {
    if (this.playing) return this.stop();
    const since = performance.now() - Math.acos(1 - 2 * this.t) * 900;
    this.button.textContent = "❚❚";
    this.button.setAttribute("aria-pressed", "true");
    const tick = async (now: number) => {
      if (!this.playing) return;
      await this.move((1 - Math.cos((now - since) / 900)) / 2);
      if (this.playing) this.playing = requestAnimationFrame((then) => void tick(then));
    };
    this.playing = requestAnimationFrame((then) => void tick(then));
  }

  private stop(): void {
    cancelAnimationFrame(this.playing);
    this.playing = 0;
    this.button.textContent = "▶";
    this.button.setAttribute("aria-pressed", "false");
  }

  private tell(own: number[]): void {
    const [now, before] = [softmax(this.logits), softmax(own)];
    this.rows.forEach((row, c) => {
      row.bar.style.width = `${100 * now[c]}%`;
      row.mark.style.left = `${100 * before[c]}%`;
      row.share.textContent = percent(now[c]);
      row.logit.textContent = this.logits[c].toFixed(2);
      row.element.classList.toggle("best", now[c] === Math.max(...now));
    });
    const apart = Math.max(...own.map((logit, c) => Math.abs(logit - this.logits[c])));
    const { classes } = this.about;
    this.verdict.replaceChildren("Named ", h("b", {}, classes[now.indexOf(Math.max(...now))]), ` at ${percent(this.t)} of the way; no logit moved by more than ${apart < 0.001 ? "0.001" : apart.toFixed(3)}.`);
  }

  private slot(slot: Slot, name: string): HTMLButtonElement {
    return h("button", { type: "button", class: "slot", "aria-pressed": "false", onclick: () => this.choose(slot) }, h("canvas", { class: "pixels" }), h("b", {}, name));
  }

  private describe(at: number): string {
    return `image ${this.run.gallery!.index[at]}${this.about.truth ? `, ${this.about.classes[this.about.truth[at]]}` : ""}`;
  }

  private batch(): number[] {
    const [height, width, channels] = this.about.shape;
    return [1, channels, height, width];
  }
}

function softmax(logits: number[]): number[] {
  const most = Math.max(...logits);
  const shares = logits.map((logit) => Math.exp(logit - most));
  const sum = shares.reduce((a, b) => a + b, 0);
  return shares.map((share) => share / sum);
}
