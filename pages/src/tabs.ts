/** Panels of which one is shown. */

import { h, roving } from "./dom";

export interface Panel {
  id: string;
  title: string;
  element: HTMLElement;
  /** Called when the panel comes into view. */
  shown?: () => void;
}

export class Tabs {
  readonly element: HTMLElement;
  private buttons: HTMLButtonElement[];
  current = "";

  constructor(private panels: Panel[]) {
    this.buttons = panels.map((panel) =>
      h("button", { type: "button", role: "tab", id: `tab-${panel.id}`, "aria-controls": `panel-${panel.id}`, onclick: () => this.show(panel.id) }, panel.title),
    );
    const list = h("div", { role: "tablist", "aria-label": "Views" }, ...this.buttons);
    roving(list, () => 1);
    for (const panel of panels) {
      panel.element.id = `panel-${panel.id}`;
      panel.element.setAttribute("role", "tabpanel");
      panel.element.setAttribute("aria-labelledby", `tab-${panel.id}`);
    }
    this.element = h("section", { class: "panels" }, list, ...panels.map((panel) => panel.element));
    this.show(panels[0].id);
  }

  show(id: string): void {
    if (!this.panels.some((panel) => panel.id === id)) return;
    this.current = id;
    this.panels.forEach((panel, i) => {
      const on = panel.id === id;
      panel.element.hidden = !on;
      this.buttons[i].setAttribute("aria-selected", String(on));
      this.buttons[i].tabIndex = on ? 0 : -1;
      if (on) panel.shown?.();
    });
  }
}
