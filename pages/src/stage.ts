/** The decoded picture, large, beside the image the walk started from. */

import { h } from "./dom";
import { type Explorer, Latest, type Place } from "./explorer";
import { paint } from "./pixels";

export function stage(explorer: Explorer, pick: (place: Place) => void): HTMLElement {
  const picture = h("canvas", { class: "pixels", id: "picture", role: "img", "aria-label": "Decoded image" });
  const source = h("canvas", { class: "pixels", role: "img", "aria-label": "Image the walk started from" });
  const origin = h("figure", { class: "source" }, source, h("figcaption", {}));
  const latest = new Latest();
  const [height, width] = explorer.run.shape!;
  let waiting = false;
  const draw = async () => {
    waiting = false;
    const busy = latest.next();
    const [image] = await explorer.pictures([explorer.code]);
    if (busy()) return;
    paint(picture, image);
    picture.dataset.drawn = explorer.code.join();
  };
  const follow = () => {
    // At most one picture per frame of the screen, however fast the slider moves.
    if (!waiting) requestAnimationFrame(() => void draw());
    waiting = true;
    const { image, label } = explorer.start;
    origin.hidden = image === null;
    if (image) paint(source, image);
    origin.querySelector("figcaption")!.textContent = label;
  };
  explorer.onChange(follow);
  const box = h("div", { class: "stage" }, picture);
  new ResizeObserver(() => {
    // Whole screen pixels per image pixel, or the squares would differ in size.
    const dense = window.devicePixelRatio || 1;
    const scale = Math.max(1, Math.floor((box.clientWidth * dense) / width));
    picture.style.width = `${(scale * width) / dense}px`;
    picture.style.height = `${(scale * height) / dense}px`;
  }).observe(box);
  return h(
    "section",
    { class: "showing" },
    box,
    h(
      "div",
      { class: "tools" },
      origin,
      h("button", { type: "button", title: "Back to where the walk started (0)", onclick: () => explorer.walkFrom(explorer.start) }, "Back to start"),
      explorer.run.gallery ? h("button", { type: "button", title: "Start from a random image (R)", onclick: () => pick(explorer.random()) }, "Random") : null,
      h("button", { type: "button", title: "All latents at zero", onclick: () => pick(explorer.middle()) }, "Zero"),
    ),
  );
}
