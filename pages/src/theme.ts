/** Light, dark, or as the system says; remembered where the browser allows it. */

import { h } from "./dom";

const KEY = "unbraid-theme";

function stored(): string | null {
  try {
    return localStorage.getItem(KEY);
  } catch {
    return null; // a page from a disk may have no storage
  }
}

function isDark(): boolean {
  const chosen = document.documentElement.dataset.theme;
  return chosen ? chosen === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
}

export function toggleTheme(): void {
  const next = isDark() ? "light" : "dark";
  document.documentElement.dataset.theme = next;
  try {
    localStorage.setItem(KEY, next);
  } catch {
    // not remembered, then
  }
}

export function themeButton(): HTMLElement {
  const chosen = stored();
  if (chosen) document.documentElement.dataset.theme = chosen;
  return h("button", { class: "quiet", type: "button", title: "Light or dark (T)", "aria-label": "Switch between light and dark", onclick: toggleTheme }, "◐");
}
