/** A grid of decoded images over two latents, from the current code. */

import { h } from "./dom";
import { breathe, type Explorer, Latest, steps } from "./explorer";
import { paint } from "./pixels";
import type { Latent } from "./types";

const GAP = 1;

export class LatentMap {
  readonly element: HTMLElement;
  private across: HTMLSelectElement;
  private down: HTMLSelectElement;
  private size: HTMLSelectElement;
  private canvas = h("canvas", { class: "pixels map", tabindex: 0, role: "application" });
  private marker = h("div", { class: "marker", "aria-hidden": "true" });
  private latest = new Latest();
  private drawn = "";

  constructor(private explorer: Explorer) {
    const options = () => explorer.run.latents.map((latent) => {
      const carries = explorer.carries(latent.index);
      return h("option", { value: latent.index }, `z${latent.index}${carries ? ` (${carries.factor})` : ""}`);
    });
    const changed = () => void this.refresh();
    this.across = h("select", { id: "across", onchange: changed }, ...options());
    this.down = h("select", { id: "down", onchange: changed }, ...options());
    this.size = h("select", { id: "cells", onchange: changed }, ...[7, 9, 13].map((n) => h("option", { value: n, selected: n === 9 }, `${n} × ${n}`)));
    const [right, up] = bestPair(explorer);
    this.across.value = String(right);
    this.down.value = String(up);
    this.canvas.setAttribute("aria-label", "Map of decoded images; arrow keys walk over it");
    this.canvas.addEventListener("pointerdown", (event) => {
      this.canvas.setPointerCapture(event.pointerId);
      this.jump(event);
    });
    this.canvas.addEventListener("pointermove", (event) => event.buttons && this.jump(event));
    this.canvas.addEventListener("keydown", (event) => this.key(event));
    this.element = h(
      "div",
      { class: "mapping" },
      h(
        "div",
        { class: "tools" },
        h("label", { for: "across" }, "Across"), this.across,
        h("label", { for: "down" }, "Upwards"), this.down,
        h("label", { for: "cells" }, "Grid"), this.size,
      ),
      h("div", { class: "sheet" }, this.canvas, this.marker),
      h("p", { class: "hint" }, "Press or drag to walk there; the other latents stay where they are. If the two latents carry one factor each, rows change one thing and columns the other."),
    );
    explorer.onChange(() => this.element.offsetParent && void this.refresh());
  }

  async refresh(): Promise<void> {
    if (!this.explorer.decoder) return;
    this.mark();
    const [x, y] = this.latents();
    const cells = Number(this.size.value);
    const others = this.explorer.code.map((value, j) => (j === x.index || j === y.index ? 0 : value));
    const key = `${x.index} ${y.index} ${cells} ${others.join()}`;
    if (key === this.drawn) return;
    const busy = this.latest.next();
    const [height, width] = this.explorer.run.shape!;
    this.canvas.width = cells * (width + GAP) - GAP;
    this.canvas.height = cells * (height + GAP) - GAP;
    const context = this.canvas.getContext("2d")!;
    const scratch = document.createElement("canvas");
    const columns = steps(x.low, x.high, cells);
    const rows = steps(y.high, y.low, cells);
    for (const [i, up] of rows.entries()) {
      const images = await this.explorer.pictures(
        columns.map((right) => this.explorer.with(this.explorer.with(others, y.index, up), x.index, right)),
      );
      if (busy()) return;
      images.forEach((image, j) => {
        paint(scratch, image);
        context.drawImage(scratch, j * (width + GAP), i * (height + GAP));
      });
      await breathe();
    }
    this.drawn = key;
  }

  private latents(): [Latent, Latent] {
    const find = (select: HTMLSelectElement) => this.explorer.run.latents.find((one) => one.index === Number(select.value))!;
    return [find(this.across), find(this.down)];
  }

  private mark(): void {
    const [x, y] = this.latents();
    const share = (latent: Latent) => (this.explorer.code[latent.index] - latent.low) / (latent.high - latent.low);
    const cells = Number(this.size.value);
    // Cell centres stand for the values, so the ends of the range lie half a cell inside.
    const place = (part: number) => (Math.min(1, Math.max(0, part)) * (cells - 1) + 0.5) / cells;
    this.marker.style.left = `${100 * place(share(x))}%`;
    this.marker.style.top = `${100 * place(1 - share(y))}%`;
  }

  private jump(event: PointerEvent): void {
    const box = this.canvas.getBoundingClientRect();
    const cells = Number(this.size.value);
    const share = (part: number) => Math.min(1, Math.max(0, (part * cells - 0.5) / (cells - 1)));
    this.go(share((event.clientX - box.left) / box.width), 1 - share((event.clientY - box.top) / box.height));
  }

  private key(event: KeyboardEvent): void {
    const move = { ArrowRight: [1, 0], ArrowLeft: [-1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] }[event.key];
    if (!move) return;
    event.preventDefault();
    const [x, y] = this.latents();
    const cells = Number(this.size.value) - 1;
    const at = (latent: Latent) => (this.explorer.code[latent.index] - latent.low) / (latent.high - latent.low);
    const clamp = (value: number) => Math.min(1, Math.max(0, value));
    this.go(clamp(at(x) + move[0] / cells), clamp(at(y) + move[1] / cells));
  }

  private go(right: number, up: number): void {
    const [x, y] = this.latents();
    const code = this.explorer.with(this.explorer.code, y.index, y.low + up * (y.high - y.low));
    this.explorer.setAll(this.explorer.with(code, x.index, x.low + right * (x.high - x.low)));
  }
}

/** The two latents that tell most about two different factors, x before others; without factors the two most active. */
function bestPair(explorer: Explorer): [number, number] {
  const { latents, information, factors } = explorer.run;
  const active = latents.map((latent) => latent.index);
  if (!information) return [active[0], active[Math.min(1, active.length - 1)]];
  const found = factors
    .map((name, k) => ({ name, latent: explorer.ranked(k)[0].index, share: information[explorer.ranked(k)[0].index][k] }))
    .sort((a, b) => b.share - a.share);
  const first = found[0];
  const second = found.find((one) => one.latent !== first.latent) ?? { name: "", latent: active.find((one) => one !== first.latent) ?? first.latent };
  const isX = (name: string) => /(^|[^a-z])x$/i.test(name);
  return isX(second.name) ? [second.latent, first.latent] : [first.latent, second.latent];
}
