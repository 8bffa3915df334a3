/** Which latent knows which factor: a matrix, and for every factor the latents that tell most about it. */

import { h, percent } from "./dom";
import type { Explorer } from "./explorer";

export function factorTable(explorer: Explorer, onLatent: (latent: number) => void, onFactor: (factor: number) => void): HTMLElement {
  const { factors, information, latents } = explorer.run;
  const shares = information!;
  const best = factors.map((_, k) => {
    const [first, second] = explorer.ranked(k);
    return { first, gap: shares[first.index][k] - (second ? shares[second.index][k] : 0) };
  });
  const head = factors.map((name, k) =>
    h("th", { scope: "col" }, h("button", { type: "button", title: `Sort the sliders by ${name}`, onclick: () => onFactor(k) }, name)),
  );
  const rows = latents.map((latent) =>
    h(
      "tr",
      { class: latent.active ? "" : "asleep" },
      h("th", { scope: "row" }, h("button", { type: "button", title: "Go to its slider", onclick: () => onLatent(latent.index) }, `z${latent.index}`)),
      ...factors.map((_, k) => {
        const share = shares[latent.index][k];
        const top = best[k].first.index === latent.index && explorer.knows(latent.index, k);
        return h("td", { class: top ? "top" : "", style: `--share:${share.toFixed(3)}` }, percent(share));
      }),
    ),
  );
  return h(
    "div",
    { class: "factors" },
    h("p", { class: "hint" }, "How much a latent alone tells about a factor: mutual information as a share of the factor’s entropy. A code that comes apart has one dark cell in every column, each in a row of its own. Press a factor to sort the sliders by it."),
    h(
      "div",
      { class: "scroll", tabindex: 0, role: "region", "aria-label": "Information of latents about factors" },
      h(
        "table",
        { class: "matrix" },
        h("thead", {}, h("tr", {}, h("td", {}), ...head)),
        h("tbody", {}, ...rows),
        h(
          "tfoot",
          {},
          h("tr", {}, h("th", { scope: "row" }, "carried by"), ...best.map(({ first }, k) => h("td", {}, explorer.knows(first.index, k) ? `z${first.index}` : "none"))),
          h("tr", {}, h("th", { scope: "row" }, "lead"), ...best.map(({ gap }) => h("td", {}, percent(gap)))),
        ),
      ),
    ),
    h("p", { class: "hint" }, "“Lead” is the distance of the first latent to the second; the mean over the factors is the mutual information gap (MIG). Up to " + percent(Math.max(...explorer.run.chance)) + " is chance with as many images as were looked at."),
  );
}
