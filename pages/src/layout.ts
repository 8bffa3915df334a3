/** What the pages of all runs have in common: a header, what is missing, pictures on the left, views on the right. */

import { h } from "./dom";
import type { Tabs } from "./tabs";
import { themeButton } from "./theme";
import type { RunData } from "./types";

export function layOut(
  main: HTMLElement,
  run: RunData,
  left: (HTMLElement | null)[],
  tabs: Tabs,
  help: { dialog: HTMLElement; button: HTMLElement },
): void {
  document.body.classList.toggle("embedded", window.parent !== window);
  main.replaceChildren(
    h("header", {}, h("h1", {}, h("span", {}, "unbraid"), ` ${run.title}`), run.home ? h("a", { href: run.home }, "all runs") : null, h("span", { class: "push" }), help.button, themeButton()),
    ...run.problems.map(({ what, detail }) => h("p", { class: "problem", role: "note" }, h("b", {}, what), ` ${detail}`)),
    h("div", { class: left.some(Boolean) ? "columns" : "columns single" }, h("div", { class: "left" }, ...left), tabs.element),
    help.dialog,
  );
}
