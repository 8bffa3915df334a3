/** A slider per latent, with what the decoder draws along it. */

import { h, percent, svg } from "./dom";
import { breathe, type Explorer, Latest, steps } from "./explorer";
import { paint } from "./pixels";
import type { Latent } from "./types";

const TILES = 9;

interface Row {
  latent: Latent;
  element: HTMLElement;
  slider: HTMLInputElement;
  value: HTMLOutputElement;
  tiles: HTMLButtonElement[];
  play: HTMLButtonElement;
}

export class Walk {
  readonly element: HTMLElement;
  private rows: Row[];
  private list = h("div", { class: "sliders" });
  private sleeping = h("div", { class: "sliders" });
  private folded: HTMLDetailsElement;
  private latest = new Latest();
  private timer = 0;
  private playing: { row: Row; since: number; phase: number } | null = null;
  private showTiles = true;

  constructor(private explorer: Explorer) {
    this.rows = explorer.run.latents.map((latent) => this.row(latent));
    const dead = this.rows.filter((row) => !row.latent.active).length;
    this.folded = h(
      "details",
      { class: "sleeping" },
      h("summary", {}, `${dead} latent${dead === 1 ? "" : "s"} that carr${dead === 1 ? "ies" : "y"} nothing`),
      h("p", { class: "hint" }, "Their codes stay at the prior whatever the image: moving them should change nothing."),
      this.sleeping,
    );
    const sort = h(
      "select",
      { id: "sort", onchange: () => this.sort(sort.value === "" ? null : Number(sort.value)) },
      h("option", { value: "" }, "activity"),
      ...(explorer.run.information ? explorer.run.factors.map((name, k) => h("option", { value: k }, `what they tell about ${name}`)) : []),
    );
    const strips = h("input", { type: "checkbox", id: "strips", checked: true, onchange: () => this.strips(strips.checked) });
    this.element = h(
      "div",
      {},
      h("div", { class: "tools" }, h("label", { for: "sort" }, "Sort by"), sort, h("label", { class: "push" }, strips, " Strips")),
      this.list,
      ...(dead ? [this.folded] : []),
    );
    this.folded.addEventListener("toggle", () => this.refresh());
    this.sort(null);
    explorer.onChange(() => this.follow());
  }

  /** Put the latents in order of activity, or of the information about a factor. */
  sort(factor: number | null): void {
    for (const latent of this.explorer.ranked(factor)) {
      const row = this.rows.find((one) => one.latent === latent)!;
      (latent.active ? this.list : this.sleeping).append(row.element);
      const share = factor === null ? null : this.explorer.run.information![latent.index][factor];
      const chip = row.element.querySelector<HTMLElement>(".chip");
      if (chip) chip.textContent = this.chip(latent, share === null ? null : [this.explorer.run.factors[factor!], share]);
    }
  }

  /** Move the keyboard to the n-th slider, counted from 0. */
  focus(position: number): void {
    const sliders = this.list.querySelectorAll<HTMLInputElement>("input[type=range]");
    sliders[position]?.focus();
  }

  focusLatent(latent: number): void {
    const row = this.rows.find((one) => one.latent.index === latent)!;
    if (!row.latent.active) this.folded.open = true;
    row.slider.focus();
  }

  /** Let the latent under the keyboard (otherwise the first) run there and back, or stop it. */
  togglePlay(): void {
    const focused = this.rows.find((row) => row.element.contains(document.activeElement));
    this.play(focused ?? this.playing?.row ?? this.rows[0]);
  }

  /** Called when the panel comes into view. */
  refresh(): void {
    this.follow();
  }

  private chip(latent: Latent, asked: [string, number] | null): string {
    if (asked) return `${asked[0]} ${percent(asked[1])}`;
    const carries = this.explorer.carries(latent.index);
    return carries ? `${carries.factor} ${percent(carries.share)}` : "";
  }

  private row(latent: Latent): Row {
    const { explorer } = this;
    const name = `z${latent.index}`;
    const carries = explorer.carries(latent.index);
    const slider = h("input", {
      type: "range",
      min: latent.low,
      max: latent.high,
      step: (latent.high - latent.low) / 400,
      "aria-label": carries ? `${name}, tells most about ${carries.factor}` : name,
      oninput: () => {
        this.stop();
        explorer.set(latent.index, Number(slider.value));
      },
      onkeydown: (event) => {
        const key = (event as KeyboardEvent).key;
        if (key === "Backspace" || key === "Delete") explorer.set(latent.index, explorer.start.code[latent.index]);
      },
    });
    const tiles = steps(latent.low, latent.high, TILES).map((value) =>
      h(
        "button",
        { type: "button", tabindex: -1, "aria-hidden": "true", onclick: () => explorer.set(latent.index, value) },
        h("canvas", { class: "pixels" }),
      ),
    );
    const value = h("output", {});
    const play = h("button", { type: "button", class: "quiet play", "aria-label": `Play ${name}`, "aria-pressed": "false" }, "▶");
    const element = h(
      "div",
      { class: "slider", "data-latent": latent.index },
      h(
        "div",
        { class: "about" },
        h("b", {}, name),
        h("span", { class: "nats", title: "Mean KL divergence to the prior: how much this latent says about an image" },
          latent.kl === null ? "" : `${latent.kl.toFixed(2)} nats`),
        explorer.run.information ? h("span", { class: "chip", title: "Information about this factor, as a share of its entropy" }, this.chip(latent, null)) : null,
      ),
      h("div", { class: "strip" }, ...tiles),
      h("div", { class: "track" }, density(latent), slider),
      value,
      play,
    );
    const row = { latent, element, slider, value, tiles, play };
    play.addEventListener("click", () => this.play(row));
    return row;
  }

  private strips(shown: boolean): void {
    this.showTiles = shown;
    this.element.classList.toggle("bare", !shown);
    this.refresh();
  }

  private play(row: Row): void {
    const again = this.playing?.row === row;
    this.stop();
    if (again) return;
    const { low, high, index } = row.latent;
    const at = Math.min(1, Math.max(-1, (2 * (this.explorer.code[index] - low)) / (high - low) - 1));
    this.playing = { row, since: performance.now(), phase: Math.asin(at) };
    row.play.textContent = "❚❚";
    row.play.setAttribute("aria-pressed", "true");
    const tick = (now: number) => {
      if (this.playing?.row !== row) return;
      const turn = Math.sin(this.playing.phase + (now - this.playing.since) / 700);
      this.explorer.set(index, low + ((high - low) * (turn + 1)) / 2);
      requestAnimationFrame(tick);
    };
    requestAnimationFrame(tick);
  }

  private stop(): void {
    if (!this.playing) return;
    this.playing.row.play.textContent = "▶";
    this.playing.row.play.setAttribute("aria-pressed", "false");
    this.playing = null;
  }

  private follow(): void {
    for (const { latent, slider, value, element } of this.rows) {
      const now = this.explorer.code[latent.index];
      if (Number(slider.value) !== now) slider.value = String(now);
      value.textContent = now.toFixed(2);
      slider.setAttribute("aria-valuetext", now.toFixed(2));
      const place = (x: number) => Math.min(1, Math.max(0, (x - latent.low) / (latent.high - latent.low)));
      element.style.setProperty("--start", String(place(this.explorer.start.code[latent.index])));
    }
    clearTimeout(this.timer);
    const busy = this.latest.next();
    // The strips can wait until the hand rests; the picture cannot.
    this.timer = window.setTimeout(() => void this.drawTiles(busy), 90);
  }

  private async drawTiles(busy: () => boolean): Promise<void> {
    if (!this.showTiles || !this.explorer.decoder) return;
    for (const { latent, tiles, element } of this.rows) {
      if (element.offsetParent === null) continue;
      const values = steps(latent.low, latent.high, TILES);
      const images = await this.explorer.pictures(values.map((value) => this.explorer.with(this.explorer.code, latent.index, value)));
      if (busy()) return;
      images.forEach((image, i) => paint(tiles[i].firstElementChild as HTMLCanvasElement, image));
      await breathe();
    }
  }
}

/** Where the codes of the data lie along the slider. */
function density(latent: Latent): SVGElement {
  const count = latent.histogram.length;
  const points = latent.histogram.map((height, i) => `${(i + 0.5) / count},${1 - height}`);
  const path = `M0,1L${points.join("L")}L1,1Z`;
  return svg("svg", { viewBox: "0 0 1 1", preserveAspectRatio: "none", "aria-hidden": "true" }, svg("path", { d: path }));
}
