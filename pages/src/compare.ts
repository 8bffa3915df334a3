/** Two runs side by side: their scores, and both explorers, which start from the same image. */

import { h, plain, shortly } from "./dom";
import type { StudyData, StudyRow } from "./types";

export function compare(a: StudyRow, b: StudyRow, study: StudyData): HTMLElement {
  const frames = [a, b].map((row) => h("iframe", { src: `runs/${row.folder}/index.html`, title: `Explorer of run ${row.folder}` }));
  if (a.data === b.data) link(frames);
  const measured = study.columns.filter((name) => number(a, name) !== null || number(b, name) !== null);
  const more = (name: string) => (study.shown.includes(name) ? "" : " more");
  const line = (title: string, value: (name: string) => string) =>
    h("tr", {}, h("th", { scope: "row" }, title), ...measured.map((name) => h("td", { class: `number${more(name)}` }, value(name))));
  const difference = (name: string) => {
    const [x, y] = [number(a, name), number(b, name)];
    return x === null || y === null ? "–" : `${y > x ? "+" : ""}${shortly(y - x)}`;
  };
  const table = h(
    "table",
    { class: "versus" },
    h("thead", {}, h("tr", {}, h("td", {}), ...measured.map((name) => h("th", { scope: "col", class: `number${more(name)}` }, plain(name))))),
    h("tbody", {}, line(a.folder, (name) => shortly(number(a, name))), line(b.folder, (name) => shortly(number(b, name))), line("difference", difference)),
  );
  const all = h("input", { type: "checkbox", onchange: () => table.classList.toggle("all", all.checked) });
  return h(
    "div",
    { class: "comparison" },
    h("p", {}, h("a", { href: "#" }, "← all runs")),
    measured.length ? h("div", { class: "scroll" }, table) : h("p", { class: "hint" }, "Neither run has been measured yet."),
    measured.length > study.shown.length ? h("label", {}, all, " all scores") : null,
    h(
      "div",
      { class: "two" },
      ...[a, b].map((row, i) =>
        h("div", {}, h("h2", {}, h("a", { href: `runs/${row.folder}/index.html` }, row.folder), ` ${words(row)}`), row.page ? frames[i] : h("p", {}, "no page of this run")),
      ),
    ),
  );
}

function words(row: StudyRow): string {
  const strength = row.strength === null ? "" : `, ${row.strength_name} = ${row.strength}`;
  return `${row.title}${strength}, ${row.data}, seed ${row.seed}`;
}

function number(row: StudyRow, name: string): number | null {
  return row.scores[name] ?? null;
}

/** Tell each explorer where the other starts. */
function link(frames: HTMLIFrameElement[]): void {
  window.addEventListener("message", (event) => {
    const from = frames.findIndex((frame) => frame.contentWindow === event.source);
    if (from >= 0 && typeof event.data?.start === "number") frames[1 - from].contentWindow?.postMessage(event.data, "*");
  });
}
