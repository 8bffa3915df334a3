/** The page of one run. */

import { about } from "./about";
import { explainPage } from "./explain";
import { Explorer, type Place } from "./explorer";
import { factorTable } from "./factors";
import { load } from "./files";
import { gallery } from "./gallery";
import { type Shortcut, shortcuts } from "./keys";
import { layOut } from "./layout";
import { LatentMap } from "./map";
import { nuisancePage } from "./nuisance";
import { stage } from "./stage";
import { Swap } from "./swap";
import { type Panel, Tabs } from "./tabs";
import { toggleTheme } from "./theme";
import type { RunData } from "./types";
import { Walk } from "./walk";

export async function runPage(main: HTMLElement, assets: string): Promise<void> {
  const run = await load<RunData>("run");
  if (run.synthesis && run.decoder) return explainPage(main, run, run.synthesis, assets);
  if (run.nuisance && run.decoder) return nuisancePage(main, run, run.nuisance, assets);
  const explorer = await Explorer.open(run, assets);
  const panels: Panel[] = [];
  const keys: Shortcut[] = [];
  let pick = (place: Place) => explorer.walkFrom(place);
  if (explorer.decoder) {
    const walk = new Walk(explorer);
    const map = new LatentMap(explorer);
    const swap = new Swap(explorer);
    panels.push(
      { id: "sliders", title: "Sliders", element: walk.element, shown: () => walk.refresh() },
      { id: "map", title: "Map", element: map.element, shown: () => void map.refresh() },
      { id: "swap", title: "Swap", element: swap.element, shown: () => void swap.refresh() },
    );
    pick = (place) => {
      if (tabs.current === "swap") swap.put(place);
      explorer.walkFrom(place);
    };
    keys.push(
      ["1 … 9", "go to the first, second … slider", (key) => (tabs.show("sliders"), walk.focus(Number(key) - 1))],
      ["Space", "let a latent run there and back, or stop it", () => walk.togglePlay()],
      ["0", "back to where the walk started", () => explorer.walkFrom(explorer.start)],
      ["S", "sliders", () => tabs.show("sliders")],
      ["M", "map of two latents", () => tabs.show("map")],
      ["W", "swap a latent between two images", () => tabs.show("swap")],
    );
    if (run.gallery) keys.push(["R", "start from a random image", () => pick(explorer.random())]);
    if (run.information)
      panels.push({
        id: "factors",
        title: "Factors",
        element: factorTable(
          explorer,
          (latent) => (tabs.show("sliders"), walk.focusLatent(latent)),
          (factor) => (walk.sort(factor), tabs.show("sliders"), (walk.element.querySelector("select")!.value = String(factor))),
        ),
      });
  } else if (run.information) {
    panels.push({ id: "factors", title: "Factors", element: factorTable(explorer, () => undefined, () => undefined) });
  }
  panels.push({ id: "about", title: "About", element: about(run) });
  keys.push(["F", "factors", () => tabs.show("factors")], ["A", "about this run", () => tabs.show("about")], ["T", "light or dark", toggleTheme]);
  const tabs = new Tabs(panels);
  const help = shortcuts(keys);
  const left = [explorer.decoder ? stage(explorer, pick) : null, run.gallery || explorer.decoder ? gallery(explorer, pick) : null];
  layOut(main, run, left, tabs, help);
  share(explorer, pick);
  explorer.changed();
  // For scripts and the curious: the same functions the page uses.
  Object.assign(window, { explorer, tabs });
  document.body.dataset.ready = "yes";
}

/** Side by side with another run, both start from the same image. */
function share(explorer: Explorer, pick: (place: Place) => void): void {
  if (window.parent === window || !explorer.run.gallery) return;
  let told = explorer.start.at;
  window.addEventListener("message", (event) => {
    const at: unknown = event.source === window.parent ? event.data?.start : null;
    if (typeof at !== "number" || !explorer.run.gallery!.index[at]?.toString() || at === explorer.start.at) return;
    told = at;
    pick(explorer.place(at));
  });
  explorer.onChange(() => {
    if (explorer.start.at < 0 || explorer.start.at === told) return;
    told = explorer.start.at;
    window.parent.postMessage({ start: told }, "*");
  });
}
