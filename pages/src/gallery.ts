/** Images of the data set to start from, and a place to drop an own one. */

import { h, roving } from "./dom";
import type { Explorer, Place } from "./explorer";
import { paint } from "./pixels";

export function gallery(explorer: Explorer, pick: (place: Place) => void): HTMLElement {
  const { run } = explorer;
  const tiles = (run.gallery?.index ?? []).map((_, at) => {
    const canvas = h("canvas", { class: "pixels" });
    paint(canvas, explorer.image(at));
    return h(
      "button",
      { type: "button", tabindex: at ? -1 : 0, title: explorer.describe(at), "aria-label": explorer.describe(at), onclick: () => pick(explorer.place(at)) },
      canvas,
    );
  });
  const grid = h("div", { class: "tiles", role: "group", "aria-label": "Images of the data set" }, ...tiles);
  roving(grid, () => Math.max(1, tiles.findIndex((tile) => tile.offsetTop > tiles[0].offsetTop)));
  const mark = () => tiles.forEach((tile, at) => tile.setAttribute("aria-pressed", String(at === explorer.start.at)));
  explorer.onChange(mark);
  mark();
  return h(
    "section",
    { class: "gallery" },
    h("div", { class: "tools" }, h("h2", {}, tiles.length ? "Start from an image" : "Start"), run.encoder && run.decoder ? own(explorer, pick) : null),
    grid,
  );
}

/** A button for a picture file; the whole page also takes one that is dropped on it. */
function own(explorer: Explorer, pick: (place: Place) => void): HTMLElement {
  const note = h("span", { class: "hint", role: "status" });
  const take = async (file: File | null | undefined) => {
    if (!file) return;
    try {
      pick(await explorer.encodeFile(file));
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
