/** A canvas of the model's own pixels to draw on, with a mouse, a pen or a finger. */

import { h } from "./dom";
import { fromTensor, paint, type Shape } from "./pixels";

/** Pixels from the middle of the brush within which it covers fully, and over which it fades. */
const [FULL, FADE] = [0.6, 1];

export class Sketch {
  readonly element: HTMLElement;
  readonly canvas = h("canvas", { class: "pixels sketch", id: "picture", role: "img", "aria-label": "The image to explain; draw on it" });
  values: Float32Array;
  private last: [number, number] | null = null;

  constructor(private shape: Shape, private drawn: (done: boolean) => void) {
    const [height, width, channels] = shape;
    this.values = new Float32Array(channels * height * width);
    this.canvas.addEventListener("pointerdown", (event) => {
      this.canvas.setPointerCapture(event.pointerId);
      this.last = this.at(event);
      this.stroke(this.last);
    });
    this.canvas.addEventListener("pointermove", (event) => {
      if (!this.last) return;
      for (const step of event.getCoalescedEvents?.() ?? [event]) this.stroke(this.at(step));
    });
    for (const end of ["pointerup", "pointercancel"])
      this.canvas.addEventListener(end, () => {
        if (!this.last) return;
        this.last = null;
        this.drawn(true);
      });
    const box = h("div", { class: "stage" }, this.canvas);
    new ResizeObserver(() => {
      const dense = window.devicePixelRatio || 1;
      const scale = Math.max(1, Math.floor((box.clientWidth * dense) / width));
      this.canvas.style.width = `${(scale * width) / dense}px`;
      this.canvas.style.height = `${(scale * height) / dense}px`;
    }).observe(box);
    this.element = box;
    this.show();
  }

  /** Put an image `[c, h, w]` on the canvas. */
  put(values: Float32Array): void {
    this.values = Float32Array.from(values);
    this.show();
  }

  /** From here to there, in steps of half a pixel. */
  stroke(to: [number, number]): void {
    const from = this.last ?? to;
    const length = Math.hypot(to[0] - from[0], to[1] - from[1]);
    const steps = Math.max(1, Math.ceil(2 * length));
    for (let i = 0; i <= steps; i++) this.dab(from[0] + ((to[0] - from[0]) * i) / steps, from[1] + ((to[1] - from[1]) * i) / steps);
    this.last = to;
    this.show();
    this.drawn(false);
  }

  private dab(x: number, y: number): void {
    const [height, width, channels] = this.shape;
    const reach = FULL + FADE;
    for (let row = Math.max(0, Math.floor(y - reach)); row <= Math.min(height - 1, y + reach); row++)
      for (let column = Math.max(0, Math.floor(x - reach)); column <= Math.min(width - 1, x + reach); column++) {
        const cover = Math.min(1, Math.max(0, 1 - (Math.hypot(column + 0.5 - x, row + 0.5 - y) - FULL) / FADE));
        for (let channel = 0; channel < channels; channel++) {
          const place = (channel * height + row) * width + column;
          this.values[place] = Math.max(this.values[place], cover);
        }
      }
  }

  private at(event: PointerEvent): [number, number] {
    const box = this.canvas.getBoundingClientRect();
    return [((event.clientX - box.left) / box.width) * this.shape[1], ((event.clientY - box.top) / box.height) * this.shape[0]];
  }

  private show(): void {
    paint(this.canvas, fromTensor(this.values, this.shape));
  }
}
