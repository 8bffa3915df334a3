/** Two images exchange one latent at a time. */

import { h } from "./dom";
import { breathe, type Explorer, Latest, type Place } from "./explorer";
import { paint } from "./pixels";

type Slot = "a" | "b";

export class Swap {
  readonly element: HTMLElement;
  private slots: Record<Slot, Place>;
  private chosen: Slot = "b";
  private buttons: Record<Slot, HTMLButtonElement>;
  private rows: { latent: number; cells: HTMLCanvasElement[] }[];
  private latest = new Latest();

  constructor(private explorer: Explorer) {
    this.slots = { a: explorer.start, b: explorer.run.gallery ? explorer.place(farthest(explorer)) : explorer.middle() };
    this.buttons = { a: this.slot("a"), b: this.slot("b") };
    this.rows = explorer.run.latents
      .filter((latent) => latent.active)
      .map((latent) => ({ latent: latent.index, cells: Array.from({ length: 4 }, () => h("canvas", { class: "pixels" })) }));
    this.element = h(
      "div",
      { class: "swap" },
      h("div", { class: "pair" }, this.buttons.a, h("span", { "aria-hidden": "true" }, "⇄"), this.buttons.b),
      h("p", { class: "hint" }, "Choose A or B, then an image on the left to fill it. Each row exchanges one latent; press a result to walk on from it."),
      h(
        "table",
        {},
        h("thead", {}, h("tr", {}, ...["Latent", "A", "A with B’s", "B with A’s", "B"].map((text) => h("th", { scope: "col" }, text)))),
        h("tbody", {}, ...this.rows.map((row) => this.line(row.latent, row.cells))),
      ),
    );
    this.choose("b");
  }

  /** Fill the chosen slot. */
  put(place: Place): void {
    this.slots[this.chosen] = place;
    void this.refresh();
  }

  async refresh(): Promise<void> {
    if (!this.explorer.decoder) return;
    const busy = this.latest.next();
    const { a, b } = this.slots;
    for (const slot of ["a", "b"] as const) {
      const place = this.slots[slot];
      const image = place.image ?? (await this.explorer.pictures([place.code]))[0];
      paint(this.buttons[slot].querySelector("canvas")!, image);
      this.buttons[slot].setAttribute("aria-label", `${slot.toUpperCase()}: ${place.label}`);
    }
    for (const { latent, cells } of this.rows) {
      const codes = [a.code, this.explorer.with(a.code, latent, b.code[latent]), this.explorer.with(b.code, latent, a.code[latent]), b.code];
      const images = await this.explorer.pictures(codes);
      if (busy()) return;
      images.forEach((image, i) => paint(cells[i], image));
      await breathe();
    }
  }

  private slot(slot: Slot): HTMLButtonElement {
    return h(
      "button",
      { type: "button", class: "slot", "aria-pressed": "false", onclick: () => this.choose(slot) },
      h("canvas", { class: "pixels" }),
      h("b", {}, slot.toUpperCase()),
    );
  }

  private choose(slot: Slot): void {
    this.chosen = slot;
    for (const each of ["a", "b"] as const) this.buttons[each].setAttribute("aria-pressed", String(each === slot));
  }

  private line(latent: number, cells: HTMLCanvasElement[]): HTMLElement {
    const carries = this.explorer.carries(latent);
    const take = (from: Slot, other: Slot) => () => {
      const code = this.explorer.with(this.slots[from].code, latent, this.slots[other].code[latent]);
      this.explorer.setAll(code);
    };
    return h(
      "tr",
      {},
      h("th", { scope: "row" }, `z${latent}`, carries ? h("small", {}, carries.factor) : null),
      h("td", {}, cells[0]),
      h("td", {}, h("button", { type: "button", "aria-label": `Walk on from A with z${latent} of B`, onclick: take("a", "b") }, cells[1])),
      h("td", {}, h("button", { type: "button", "aria-label": `Walk on from B with z${latent} of A`, onclick: take("b", "a") }, cells[2])),
      h("td", {}, cells[3]),
    );
  }
}

/** The image of the gallery whose code is least like that of the first, so that a swap shows something. */
function farthest(explorer: Explorer): number {
  const codes = explorer.run.gallery!.codes;
  const active = explorer.run.latents.filter((latent) => latent.active);
  const distance = (at: number) => Math.min(...active.map(({ index, low, high }) => Math.abs(codes[at][index] - codes[0][index]) / (high - low)));
  return codes.reduce((best, _, at) => (distance(at) > distance(best) ? at : best), codes.length > 1 ? 1 : 0);
}
