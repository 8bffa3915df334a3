/** Images of the data set to start from, and a place to drop an own one. */

import { h, roving } from "./dom";
import type { Explorer, Place } from "./explorer";
import { paint } from "./pixels";

export function gallery(explorer: Explorer, pick: (place: Place) => void): HTMLElement {
  const { run } = explorer;
  const grid = new Tiles(
    run.gallery?.index.length ?? 0,
    (at) => explorer.image(at),
    (at) => explorer.describe(at),
    (at) => pick(explorer.place(at)),
  );
  const mark = () => grid.mark(explorer.start.at);
  explorer.onChange(mark);
  mark();
  const take = async (file: File) => pick(await explorer.encodeFile(file));
  return h(
    "section",
    { class: "gallery" },
    h("div", { class: "tools" }, h("h2", {}, grid.count ? "Start from an image" : "Start"), run.encoder && run.decoder ? ownImage(take) : null),
    grid.element,
  );
}

/** Small images to press. */
export class Tiles {
  readonly element: HTMLElement;
  private tiles: HTMLButtonElement[];

  constructor(readonly count: number, image: (at: number) => ImageData, describe: (at: number) => string, pick: (at: number) => void) {
    this.tiles = Array.from({ length: count }, (_, at) => {
      const canvas = h("canvas", { class: "pixels" });
      paint(canvas, image(at));
      return h("button", { type: "button", tabindex: at ? -1 : 0, title: describe(at), "aria-label": describe(at), onclick: () => pick(at) }, canvas);
    });
    this.element = h("div", { class: "tiles", role: "group", "aria-label": "Images of the data set" }, ...this.tiles);
    roving(this.element, () => Math.max(1, this.tiles.findIndex((tile) => tile.offsetTop > this.tiles[0].offsetTop)));
  }

  /** Show which of them is chosen. */
  mark(chosen: number): void {
    this.tiles.forEach((tile, at) => tile.setAttribute("aria-pressed", String(at === chosen)));
  }
}

/** A button for a picture file; the whole page also takes one that is dropped on it. */
export function ownImage(use: (file: File) => Promise<void>): HTMLElement {
  const note = h("span", { class: "hint", role: "status" });
  const take = async (file: File | null | undefined) => {
    if (!file) return;
    try {
      await use(file);
      note.textContent = "";
    } catch {
      note.textContent = `${file.name} is no picture this browser can read`;
    }
  };
  const input = h("input", { type: "file", accept: "image/*", hidden: true, "aria-label": "Own image", onchange: () => void take(input.files?.[0]) });
  document.addEventListener("dragover", (event) => event.preventDefault());
  document.addEventListener("drop", (event) => {
    event.preventDefault();
    void take(event.dataTransfer?.files[0]);
  });
  return h("span", { class: "push" }, note, h("button", { type: "button", onclick: () => input.click() }, "Own image…"), input);
}
