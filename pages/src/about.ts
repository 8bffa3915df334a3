/** What a run is, how its training went, which of its files are there. */

import { h, shortly, svg } from "./dom";
import type { RunData } from "./types";

/** The sentence of `unbraid.metrics.ABOVE`, which the command's tables end with as well. */
const ABOVE =
  "above its ceiling: a perfect code gets less there, because the estimator favours other codes (few samples, bins)";

export function about(run: RunData): HTMLElement {
  return h(
    "div",
    { class: "about-run" },
    table("Run", run.facts),
    run.scores.length ? scores(run.scores) : null,
    run.history && run.history.step.length > 1 ? curve(run.history) : null,
    table("Files", run.files.map(([name, bytes]) => [name, bytes === null ? "missing" : `${bytes.toLocaleString("en")} bytes`])),
  );
}

function scores(found: RunData["scores"]): HTMLElement {
  const above = (value: number, ceiling: number | null) => ceiling !== null && +value.toFixed(3) > +ceiling.toFixed(3);
  const section = table(
    "Scores",
    found.map(([name, value, ceiling]) => [
      name,
      shortly(value) + (above(value, ceiling) ? "*" : "") + (ceiling === null ? "" : ` of ${shortly(ceiling)}`),
    ]),
  );
  if (found.some(([, value, ceiling]) => above(value, ceiling))) section.append(h("p", { class: "hint" }, `* ${ABOVE}`));
  return section;
}

function table(title: string, rows: [string, string][]): HTMLElement {
  return h(
    "section",
    {},
    h("h3", {}, title),
    h("dl", {}, ...rows.flatMap(([name, value]) => [h("dt", {}, name), h("dd", {}, value)])),
  );
}

function curve({ step, loss }: { step: number[]; loss: number[] }): HTMLElement {
  const [width, height] = [480, 140];
  const [low, high] = [Math.min(...loss), Math.max(...loss)];
  const last = step[step.length - 1];
  const x = (value: number) => (width * (value - step[0])) / (last - step[0] || 1);
  const y = (value: number) => height - (height * (value - low)) / (high - low || 1);
  const path = step.map((at, i) => `${i ? "L" : "M"}${x(at).toFixed(1)},${y(loss[i]).toFixed(1)}`).join("");
  return h(
    "section",
    {},
    h("h3", {}, "Training loss"),
    svg(
      "svg",
      { class: "curve", viewBox: `-2 -2 ${width + 4} ${height + 4}`, role: "img", "aria-label": `Loss from ${shortly(loss[0])} at step ${step[0]} to ${shortly(loss[loss.length - 1])} at step ${last}` },
      svg("path", { d: path }),
    ) as unknown as HTMLElement,
    h("p", { class: "hint" }, `${shortly(loss[0])} at step ${shortly(step[0])}, ${shortly(loss[loss.length - 1])} at step ${shortly(last)}`),
  );
}
