/** Small helpers for making elements. */

type Child = Node | string | null | false;
type Props = Record<string, string | number | boolean | EventListener | null | undefined>;

/** An element; properties starting with "on" are listeners, true is an empty attribute, false and null leave it out. */
export function h<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  props: Props = {},
  ...children: Child[]
): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag);
  apply(element, props, children);
  return element;
}

export function svg(tag: string, props: Props = {}, ...children: Child[]): SVGElement {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  apply(element, props, children);
  return element;
}

function apply(element: Element, props: Props, children: Child[]): void {
  for (const [name, value] of Object.entries(props)) {
    if (typeof value === "function") element.addEventListener(name.slice(2).toLowerCase(), value);
    else if (value !== null && value !== undefined && value !== false)
      element.setAttribute(name, value === true ? "" : String(value));
  }
  for (const child of children) if (child !== null && child !== false) element.append(child);
}

/** A number for people. */
export function shortly(value: number | null | undefined, digits = 3): string {
  if (value === null || value === undefined || !Number.isFinite(value)) return "–";
  if (Number.isInteger(value)) return value.toLocaleString("en");
  const size = Math.abs(value);
  return size >= 1000 ? Math.round(value).toLocaleString("en") : size >= 100 ? value.toFixed(1) : value.toFixed(digits);
}

/** The name of a score with spaces, so that it can be broken into lines. */
export function plain(name: string): string {
  return name.replaceAll("_", " ");
}

export function percent(share: number): string {
  return `${Math.round(100 * share)} %`;
}

/** Arrow keys walk among the buttons of a group, of which only one is in the tab order. */
export function roving(group: HTMLElement, columns: () => number): void {
  const items = () => [...group.querySelectorAll<HTMLElement>("button")];
  group.addEventListener("keydown", (event) => {
    const all = items();
    const at = all.indexOf(document.activeElement as HTMLElement);
    if (at < 0) return;
    const step = { ArrowRight: 1, ArrowLeft: -1, ArrowDown: columns(), ArrowUp: -columns() }[event.key];
    const to = event.key === "Home" ? 0 : event.key === "End" ? all.length - 1 : step === undefined ? -1 : at + step;
    if (to < 0 || to >= all.length) return;
    event.preventDefault();
    all[at].tabIndex = -1;
    all[to].tabIndex = 0;
    all[to].focus();
  });
}
