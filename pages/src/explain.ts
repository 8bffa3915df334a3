/** The page of a model that explains images by drawing them: what each class would draw, and how well that fits. */

import { about } from "./about";
import { h, percent } from "./dom";
import { breathe, Latest } from "./explorer";
import { loadBytes } from "./files";
import { ownImage, Tiles } from "./gallery";
import { shortcuts } from "./keys";
import { layOut } from "./layout";
import { Network } from "./model";
import { fromBytes, fromFile, fromTensor, paint } from "./pixels";
import { type Reading, Search, STEPS } from "./search";
import { Sketch } from "./sketch";
import { Tabs } from "./tabs";
import { toggleTheme } from "./theme";
import type { RunData, SynthesisData } from "./types";

export async function explainPage(main: HTMLElement, run: RunData, synthesis: SynthesisData, assets: string): Promise<void> {
  const shape = run.shape!;
  const [images, starts] = [await loadBytes("images"), await loadBytes("starts")];
  const net = await Network.open("decoder", assets);
  const view = new Explain(run, synthesis, new Search(net, synthesis, starts, shape[0] * shape[1] * shape[2]));
  const sketch = new Sketch(shape, (done) => (tiles.mark(-1), void view.explain(sketch.values, -1, done)));
  const show = (values: Float32Array, at: number) => {
    sketch.put(values);
    tiles.mark(at);
    return view.explain(values, at, true);
  };
  const pick = (at: number) => void show(fromImage(images, shape, at), at);
  const name = (at: number) => `image ${run.gallery!.index[at]}${synthesis.truth ? `, ${synthesis.classes[synthesis.truth[at]]}` : ""}`;
  const tiles = new Tiles(run.gallery!.index.length, (at) => fromBytes(images, shape, at), name, pick);
  const own = ownImage(async (file) => void (await show(await fromFile(file, shape), -1)));
  const clear = () => void show(new Float32Array(sketch.values.length), -1);
  const invert = () => void show(sketch.values.map((value) => 1 - value), -1);
  const tabs = new Tabs([
    { id: "explain", title: "Explain", element: view.element },
    { id: "about", title: "About", element: about(run) },
  ]);
  const help = shortcuts([
    ["C", "clear the image, to draw one", clear],
    ["I", "invert the image", invert],
    ["R", "a random image", () => pick(Math.floor(Math.random() * run.gallery!.index.length))],
    ["E", "what each class draws", () => tabs.show("explain")],
    ["A", "about this run", () => tabs.show("about")],
    ["T", "light or dark", toggleTheme],
  ]);
  const showing = h(
    "section",
    { class: "showing drawable" },
    sketch.element,
    h(
      "div",
      { class: "tools" },
      h("span", { class: "hint" }, "Draw here, or choose below"),
      h("button", { type: "button", title: "Make all pixels black (C)", onclick: clear }, "Clear"),
      h("button", { type: "button", title: "Black for white (I); for pictures of ink on paper", onclick: invert }, "Invert"),
    ),
  );
  const gallery = h("section", { class: "gallery" }, h("div", { class: "tools" }, h("h2", {}, "Images"), own), tiles.element);
  layOut(main, run, [showing, gallery], tabs, help);
  Object.assign(window, { sketch, view, tabs });
  await show(fromImage(images, shape, 0), 0);
  document.body.dataset.ready = "yes";
}

/** An image of bytes `[n, h, w, c]` as the model sees it, `[c, h, w]` from 0 to 1. */
export function fromImage(bytes: Uint8Array, [height, width, channels]: [number, number, number], at: number): Float32Array {
  const [plane, first] = [height * width, at * height * width * channels];
  const values = new Float32Array(plane * channels);
  for (let pixel = 0; pixel < plane; pixel++)
    for (let channel = 0; channel < channels; channel++) values[channel * plane + pixel] = bytes[first + pixel * channels + channel] / 255;
  return values;
}

class Explain {
  readonly element: HTMLElement;
  /** What was found last, for scripts. */
  found: Reading[] = [];
  private cards: { element: HTMLElement; canvas: HTMLCanvasElement; energy: HTMLElement; bar: HTMLElement; share: HTMLElement }[];
  private verdict = h("p", { class: "verdict", role: "status" });
  private library = h("p", { class: "hint" });
  private latest = new Latest();

  constructor(private run: RunData, private about: SynthesisData, private search: Search) {
    this.cards = about.classes.map(() => ({
      element: h("li", {}),
      canvas: h("canvas", { class: "pixels" }),
      energy: h("span", { class: "energy" }),
      bar: h("i", {}),
      share: h("span", { class: "share" }),
    }));
    this.cards.forEach((card, c) =>
      card.element.append(h("b", {}, about.classes[c]), card.canvas, card.energy, h("span", { class: "meter" }, card.bar), card.share),
    );
    const { samples, iterations, starts, fitted } = about;
    const energy = about.likelihood === "gaussian" ? "its squared distance to the image, summed over pixels, and half the squared length of its latent" : "its cross-entropy and half the squared length of its latent";
    this.element = h(
      "div",
      { class: "explain" },
      this.verdict,
      h("ol", { class: "readings" }, ...this.cards.map((card) => card.element)),
      this.library,
      h("p", { class: "hint" }, `Each class draws the image as well as it can; the energy of a drawing is ${energy}. Bars are the posterior, which is even where no class explains the image${fitted ? "; its scale was fitted to the images on the left" : ", with the published scale"}.`),
      h(
        "p",
        { class: "hint" },
        `This page searches on its own: from the best of ${starts.length} decodings that came along, ${STEPS} damped Gauss–Newton steps whose slopes are differences of decodings. ` +
          `The library compares with ${samples.toLocaleString("en")} decodings and takes ${iterations} steps of Adam; energies differ by little, now and then one of them finds a better drawing.`,
      ),
    );
  }

  /** Search for the best drawing of every class; `done` says that the image is complete. */
  async explain(image: Float32Array, at: number, done: boolean): Promise<void> {
    const busy = this.latest.next();
    this.element.setAttribute("aria-busy", "true");
    const copy = Float32Array.from(image);
    for await (const readings of this.search.explain(copy)) {
      if (busy()) return;
      this.show(readings);
      await breathe();
      // While the hand still moves, a glance is enough.
      if (!done) break;
    }
    if (busy()) return;
    this.compare(at);
    this.element.setAttribute("aria-busy", "false");
  }

  private show(readings: Reading[]): void {
    this.found = readings.map((one) => ({ ...one }));
    const energies = readings.map((one) => one.energy);
    const chances = this.search.posterior(energies);
    const order = energies.map((_, c) => c).sort((a, b) => energies[a] - energies[b]);
    readings.forEach(({ energy, image }, c) => {
      const card = this.cards[c];
      paint(card.canvas, fromTensor(image, this.run.shape!));
      card.energy.textContent = energy.toFixed(1);
      card.bar.style.width = percent(chances[c]).replace(" ", "");
      card.share.textContent = percent(chances[c]);
      card.element.classList.toggle("best", c === order[0]);
    });
    const [first, second] = order;
    const { classes } = this.about;
    this.verdict.replaceChildren(
      "Explained best as ",
      h("b", {}, classes[first]),
      `: energy ${energies[first].toFixed(1)}, ${(energies[second] - energies[first]).toFixed(1)} below ${classes[second]}; posterior ${chances[first].toFixed(2)}.`,
    );
  }

  private compare(at: number): void {
    const known = this.about.energies[at];
    this.library.hidden = !known;
    if (!known) return;
    const best = known.indexOf(Math.min(...known));
    const { classes, truth } = this.about;
    this.library.textContent = `Image ${this.run.gallery!.index[at]}${truth ? `, truly ${classes[truth[at]]}` : ""}. The library’s full search: ${classes[best]}, energy ${known[best].toFixed(1)}.`;
  }
}
