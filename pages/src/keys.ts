/** Keyboard shortcuts, and the dialog that lists them. */

import { h } from "./dom";

export type Shortcut = [keys: string, what: string, act: (key: string) => void];

export function shortcuts(list: Shortcut[]): { dialog: HTMLDialogElement; button: HTMLElement } {
  const fixed: [string, string][] = [
    ["Tab", "next control"],
    ["← →", "move a slider, or walk among images, tabs and the map"],
    ["Backspace", "put the slider back to where the walk started"],
  ];
  const dialog = h(
    "dialog",
    { "aria-label": "Keyboard" },
    h("h2", {}, "Keyboard"),
    h("dl", {}, ...[...fixed, ...list.map(([keys, what]) => [keys, what])].flatMap(([keys, what]) => [h("dt", {}, h("kbd", {}, keys)), h("dd", {}, what)])),
    h("form", { method: "dialog" }, h("button", {}, "Close")),
  );
  const button = h("button", { type: "button", class: "quiet", title: "Keyboard (?)", "aria-label": "Keyboard shortcuts", onclick: () => dialog.showModal() }, "?");
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || dialog.open) return;
    const target = event.target as HTMLElement;
    const typing = target.matches("select, input:not([type=range], [type=checkbox])");
    if (typing || (event.key === " " && target.matches("button, summary, input[type=checkbox]"))) return;
    if (event.key === "?") return dialog.showModal();
    const key = event.key === " " ? "Space" : event.key.toUpperCase();
    const found = list.find(([keys]) => (keys === "1 … 9" ? /^[1-9]$/.test(key) : keys.toUpperCase() === key.toUpperCase()));
    if (!found) return;
    event.preventDefault();
    found[2](event.key);
  });
  return { dialog, button };
}
