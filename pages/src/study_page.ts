/** The page of a study: a table of its runs to sort and filter, of which two can be put side by side. */

import { compare } from "./compare";
import { h, plain, shortly } from "./dom";
import { load } from "./files";
import { shortcuts } from "./keys";
import { themeButton, toggleTheme } from "./theme";
import type { StudyData, StudyRow } from "./types";

type Key = string;

/** Rows that are shown at first; more take a while to lay out. */
const MANY = 300;

const ABOUT: [Key, string][] = [
  ["index", "Run"],
  ["data", "Data"],
  ["title", "Objective"],
  ["strength", "Strength"],
  ["seed", "Seed"],
  ["status", "Status"],
];

export async function studyPage(main: HTMLElement): Promise<void> {
  const study = await load<StudyData>("study");
  const page = new StudyTable(study);
  const help = shortcuts([
    ["/", "filter", () => page.search.focus()],
    ["C", "compare the two chosen runs", () => page.compare()],
    ["T", "light or dark", toggleTheme],
  ]);
  main.replaceChildren(
    h("header", {}, h("h1", {}, h("span", {}, "unbraid"), ` study ${study.name}`), h("span", { class: "push" }), help.button, themeButton()),
    ...study.notes.map((note) => h("p", { class: "problem", role: "note" }, note)),
    page.element,
    help.dialog,
  );
  document.body.dataset.ready = "yes";
}

class StudyTable {
  readonly element: HTMLElement;
  readonly search = h("input", { type: "search", placeholder: "Filter: words, or mig>0.2", "aria-label": "Filter runs", oninput: () => this.draw() });
  private selects: Record<string, HTMLSelectElement> = {};
  private body = h("tbody");
  private head = h("tr");
  private more = h("button", { type: "button", class: "more", onclick: () => ((this.all = true), this.draw()) }, "Show all");
  private count = h("span", { class: "hint", role: "status" });
  private bar = h("div", { class: "bar", hidden: true });
  private overview: HTMLElement;
  private side = h("section", { class: "side", hidden: true });
  private key: Key = "index";
  private falling = false;
  private all = false;
  private chosen: number[] = [];
  private shown: Set<string>;

  constructor(private study: StudyData) {
    this.shown = new Set(study.shown);
    const choices = (["data", "objective", "status"] as const).map((name) => {
      const titles = new Map(study.rows.map((row) => [row[name], name === "objective" ? row.title : row[name]]));
      const values = [...titles.keys()].sort();
      const select = h("select", { "aria-label": `Only this ${name}`, onchange: () => this.draw() }, h("option", { value: "" }, `any ${name}`), ...values.map((value) => h("option", { value }, titles.get(value)!)));
      this.selects[name] = select;
      return values.length > 1 ? select : null;
    });
    const columns = h(
      "details",
      { class: "columns-menu" },
      h("summary", {}, "Scores"),
      h("div", {}, ...study.columns.map((name) => h("label", {}, h("input", { type: "checkbox", value: name, checked: this.shown.has(name), onchange: (event) => this.toggle(event.target as HTMLInputElement) }), ` ${name}`))),
    );
    this.overview = h(
      "section",
      {},
      h("div", { class: "tools" }, this.search, ...choices, columns, this.count),
      h("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "Runs" }, h("table", { class: "runs" }, h("thead", {}, this.head), this.body)),
      this.more,
    );
    this.element = h("div", { class: "study" }, this.overview, this.side, this.bar);
    this.draw();
    window.addEventListener("hashchange", () => this.route());
    this.route();
  }

  compare(): void {
    if (this.chosen.length === 2) location.hash = `compare=${this.chosen.join()}`;
  }

  private route(): void {
    const found = /^#compare=(\d+),(\d+)$/.exec(location.hash);
    const rows = found ? [found[1], found[2]].map((index) => this.study.rows.find((row) => row.index === Number(index))) : [];
    const both = rows.length === 2 && rows[0] && rows[1];
    this.overview.hidden = Boolean(both);
    this.side.hidden = !both;
    this.side.replaceChildren(...(both ? [compare(rows[0]!, rows[1]!, this.study)] : []));
    this.drawBar();
    if (both) this.side.querySelector<HTMLElement>("a")?.focus();
  }

  private toggle(box: HTMLInputElement): void {
    if (box.checked) this.shown.add(box.value);
    else this.shown.delete(box.value);
    this.draw();
  }

  private draw(): void {
    const scores = this.study.columns.filter((name) => this.shown.has(name));
    const heads: [Key, string][] = [...ABOUT, ...scores.map((name): [Key, string] => [name, name])];
    const [run, ...others] = heads.map(([key, title]) => {
      const sorted = key === this.key ? (this.falling ? "descending" : "ascending") : "none";
      return h(
        "th",
        { scope: "col", "aria-sort": sorted, class: key === "seed" || scores.includes(key) ? "number" : "" },
        h("button", { type: "button", "data-key": key, onclick: () => this.sortBy(key, scores.includes(key)) }, plain(title), h("i", { "aria-hidden": "true" }, sorted === "none" ? "" : this.falling ? " ↓" : " ↑")),
      );
    });
    this.head.replaceChildren(run, h("th", { scope: "col" }, h("span", { class: "hidden" }, "Compare")), h("th", { scope: "col" }, "Looks"), ...others);
    const rows = this.study.rows.filter((row) => this.matches(row)).sort((a, b) => this.order(a, b));
    const few = this.all ? rows : rows.slice(0, MANY);
    this.body.replaceChildren(...few.map((row) => this.line(row, scores)));
    this.more.hidden = few.length === rows.length;
    const begun = this.study.rows.length;
    this.count.textContent = `${rows.length} of ${begun} runs${begun < this.study.planned ? `, ${this.study.planned} planned` : ""}`;
    this.drawBar();
  }

  private sortBy(key: Key, score: boolean): void {
    this.falling = key === this.key ? !this.falling : score;
    this.key = key;
    this.draw();
    this.head.querySelector<HTMLElement>(`[data-key="${key}"]`)?.focus();
  }

  private order(a: StudyRow, b: StudyRow): number {
    const [x, y] = [value(a, this.key), value(b, this.key)];
    if (x === null || y === null) return x === y ? a.index - b.index : x === null ? 1 : -1; // what was not measured comes last
    const sign = typeof x === "number" && typeof y === "number" ? x - y : String(x).localeCompare(String(y));
    return (this.falling ? -sign : sign) || a.index - b.index;
  }

  /** Every word must occur; `name>0.2` and `name<0.2` compare a score. */
  private matches(row: StudyRow): boolean {
    if (Object.entries(this.selects).some(([name, select]) => select.value && value(row, name) !== select.value)) return false;
    const text = [row.folder, row.data, row.objective, row.title, `${row.strength_name}=${row.strength}`, `seed=${row.seed}`, row.status, row.error ?? ""].join(" ").toLowerCase();
    return this.search.value.toLowerCase().split(/\s+/).filter(Boolean).every((word) => {
      const test = /^([a-z_0-9]+)([<>])(-?[\d.]+)$/.exec(word);
      if (!test) return text.includes(word);
      const number = value(row, test[1]);
      return typeof number === "number" && (test[2] === ">" ? number > Number(test[3]) : number < Number(test[3]));
    });
  }

  private line(row: StudyRow, scores: string[]): HTMLElement {
    const page = `runs/${row.folder}/index.html`;
    const box = h("input", { type: "checkbox", "aria-label": `Compare run ${row.folder}`, checked: this.chosen.includes(row.index), disabled: !row.page, onchange: () => this.choose(row.index) });
    const look = row.page
      ? h("a", { href: page, title: "Open the explorer" }, h("img", { src: `runs/${row.folder}/looks.png`, alt: `What run ${row.folder} draws`, loading: "lazy", class: "looks" }))
      : h("span", { class: "hint" }, row.error ? "failed" : "no picture");
    return h(
      "tr",
      { "data-index": row.index },
      h("th", { scope: "row" }, row.page ? h("a", { href: page }, row.folder) : row.folder),
      h("td", {}, box),
      h("td", {}, look),
      h("td", {}, row.data),
      h("td", { title: row.objective }, row.title),
      h("td", {}, row.strength === null ? "" : `${row.strength_name} = ${row.strength}`),
      h("td", { class: "number" }, String(row.seed)),
      h("td", { title: row.error ?? "" }, row.status),
      ...scores.map((name) => h("td", { class: "number" }, shortly(row.scores[name]))),
    );
  }

  private choose(index: number): void {
    const at = this.chosen.indexOf(index);
    if (at >= 0) this.chosen.splice(at, 1);
    else this.chosen = [...this.chosen, index].slice(-2); // a third choice lets go of the first
    for (const line of this.body.rows) line.querySelector("input")!.checked = this.chosen.includes(Number(line.dataset.index));
    this.drawBar();
  }

  private drawBar(): void {
    this.bar.hidden = this.chosen.length === 0 || !this.side.hidden;
    const name = (index: number) => this.study.rows.find((row) => row.index === index)!.folder;
    this.bar.replaceChildren(
      h("span", {}, this.chosen.length === 2 ? `${name(this.chosen[0])} and ${name(this.chosen[1])}` : `${this.chosen.map(name)} and … choose one more`),
      h("button", { type: "button", class: "main", disabled: this.chosen.length < 2, onclick: () => this.compare() }, "Compare side by side"),
    );
  }
}

function value(row: StudyRow, key: Key): string | number | null {
  if (key in row.scores) return row.scores[key];
  const found = row[key as keyof StudyRow];
  return typeof found === "string" || typeof found === "number" ? found : null;
}
