/**
 * Small builders of DOM nodes. Strings only ever become text nodes or attributes, so nothing from outside is parsed as HTML.
 *
 * Folder `ui`: what every part of the page is built with. Knows no session and no match.
 */

import { CONTROLS } from "../contract/tables";

type Attribute = string | number | boolean | null | undefined;
type Child = Node | string | null | undefined;

/** An element; `true` sets an empty attribute, `false`, null and undefined leave it out. */
export function h<K extends keyof HTMLElementTagNameMap>(tag: K, attributes: Record<string, Attribute> = {}, ...children: Child[]): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) setAttribute(element, name, value);
  for (const child of children) if (child != null) element.append(child);
  return element;
}

/** Writes an attribute only when it differs: what matches it in a style sheet is not looked up again. */
export function setAttribute(element: Element, name: string, value: Attribute): void {
  const text = value === false || value == null ? null : value === true ? "" : String(value);
  if (text === element.getAttribute(name)) return;
  if (text === null) element.removeAttribute(name);
  else element.setAttribute(name, text);
}

/** Whether this element has the focus. A widget may stand in a shadow root, and the document's `activeElement` is then its host. */
export function focused(element: Element): boolean {
  return (element.getRootNode() as Document | ShadowRoot).activeElement === element;
}

/** Lets a bar show from one share of its track to another, 0 to 1: by clipping, which costs no layout. */
export function setSpan(fill: HTMLElement, from: number, to: number): void {
  fill.style.clipPath = `inset(0 ${(100 * (1 - to)).toFixed(1)}% 0 ${(100 * from).toFixed(1)}% round 4px)`;
}

/** The same from the middle of its track towards `share` of either half, -1 to 1. */
export function setBalance(fill: HTMLElement, share: number): void {
  setSpan(fill, 0.5 + Math.min(share, 0) / 2, 0.5 + Math.max(share, 0) / 2);
}

/** Writes a text only when it differs, so that a live region is not read out again and layout is left alone; into the same node. */
export function setText(element: Element, text: string): void {
  const only = element.firstChild;
  if (only instanceof Text && only === element.lastChild) {
    if (only.data !== text) only.data = text;
  } else if (element.textContent !== text) {
    element.textContent = text;
  }
}

/** A `<select>` of [value, visible text] pairs. */
export function select(attributes: Record<string, Attribute>, options: readonly (readonly [string, string])[]): HTMLSelectElement {
  const element = h("select", attributes);
  setOptions(element, options);
  return element;
}

export function setOptions(element: HTMLSelectElement, options: readonly (readonly [string, string])[]): void {
  element.replaceChildren(...options.map(([value, text]) => h("option", { value }, text)));
}

/** Selects `value`, adding it as an option of its own where nobody offered it. */
export function selectValue(element: HTMLSelectElement, value: string, text = value): void {
  if (![...element.options].some((option) => option.value === value)) element.append(h("option", { value }, text));
  element.value = value;
}

const SVG = "http://www.w3.org/2000/svg";

/** Outlines on a 16 x 16 grid, drawn for this project. */
const ICONS = {
  play: "M4.5 2.6v10.8L13 8z",
  pause: "M4 3h3v10H4zM9 3h3v10H9z",
  tick: "M3.5 3v10L10 8zM11 3h2v10h-2z",
  decision: "M2 3v10l5-5zM7 3v10l5-5zM12.5 3h1.8v10h-1.8z",
  reset: "M8 2.5a5.5 5.5 0 1 0 5.5 5.5h-1.8A3.7 3.7 0 1 1 8 4.3v2.2L11.6 3.4 8 .4z",
  dice: "M3.5 2h9A1.5 1.5 0 0 1 14 3.5v9a1.5 1.5 0 0 1-1.5 1.5h-9A1.5 1.5 0 0 1 2 12.5v-9A1.5 1.5 0 0 1 3.5 2zM5.2 4a1.2 1.2 0 1 0 0 2.4 1.2 1.2 0 0 0 0-2.4zm5.6 0a1.2 1.2 0 1 0 0 2.4 1.2 1.2 0 0 0 0-2.4zM8 6.8a1.2 1.2 0 1 0 0 2.4 1.2 1.2 0 0 0 0-2.4zM5.2 9.6a1.2 1.2 0 1 0 0 2.4 1.2 1.2 0 0 0 0-2.4zm5.6 0a1.2 1.2 0 1 0 0 2.4 1.2 1.2 0 0 0 0-2.4z",
  expand: "M2 2h5v1.8H3.8V7H2zM9 2h5v5h-1.8V3.8H9zM2 9h1.8v3.2H7V14H2zM12.2 9H14v5H9v-1.8h3.2z",
  goal: "M2 3v10l5-5zM7 3v10l5-5zM13 4.2a1.6 1.6 0 1 1 0 3.2 1.6 1.6 0 0 1 0-3.2zM12.3 9h1.5v4h-1.5z",
  save: "M7.1 2h1.8v6.2l2.3-2.3 1.3 1.3L8 11.7 3.5 7.2l1.3-1.3 2.3 2.3zM2.5 12.4h11v1.8h-11z",
  copy: "M5.5 1.5H13A1.5 1.5 0 0 1 14.5 3v7.5h-1.8V3.3H5.5zM3 4.8h7A1.5 1.5 0 0 1 11.5 6.3V13a1.5 1.5 0 0 1-1.5 1.5H3A1.5 1.5 0 0 1 1.5 13V6.3A1.5 1.5 0 0 1 3 4.8zm.3 1.8v6.1h6.4V6.6z",
  stop: "M3.5 3.5h9v9h-9z",
  open: "M7.1 11.7h1.8V5.5l2.3 2.3 1.3-1.3L8 2 3.5 6.5l1.3 1.3 2.3-2.3zM2.5 12.4h11v1.8h-11z",
  share: "M12 1.8a2.3 2.3 0 1 1-1.6 3.9L6.5 7.6v.8l3.9 1.9a2.3 2.3 0 1 1-.7 1.5L5.8 9.9a2.3 2.3 0 1 1 0-3.8l3.9-1.9A2.3 2.3 0 0 1 12 1.8z",
  film: "M2 3h8.5v3.2L14 4v8l-3.5-2.2V13H2z",
  picture: "M2 2.5h12v11H2zM3.6 4.1v5.6l3-3 3 3 1.6-1.6 1.2 1.2V4.1zM10.6 5a1.2 1.2 0 1 1 0 2.4 1.2 1.2 0 0 1 0-2.4z",
  chevron: "M5.2 2.8 10.4 8l-5.2 5.2-1.3-1.3L7.8 8 3.9 4.1z",
} as const;
export type Icon = keyof typeof ICONS;

export function icon(name: Icon): SVGElement {
  const picture = svg("svg", { viewBox: "0 0 16 16", class: "icon", "aria-hidden": "true" });
  picture.append(svg("path", { d: ICONS[name], "fill-rule": "evenodd" }));
  return picture;
}

/** An element of a drawing. */
export function svg(tag: string, attributes: Record<string, string | number>): SVGElement {
  const element = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, String(value));
  return element;
}

/** Hands a file to the browser's downloads. */
export function download(name: string, content: Blob): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(content);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000); // the download has begun by then
}

/** A control's stable id and its accessible name: those of the table, or its own where there are several of a kind. */
export type ControlId = keyof typeof CONTROLS | readonly [id: string, name: string];

/** The attributes that make an element a control of that id and name. */
export function control(given: ControlId): { "data-control": string; "aria-label": string } {
  const [id, name] = typeof given === "string" ? [given, CONTROLS[given]] : given;
  return { "data-control": id, "aria-label": name };
}

/** A button that shows its accessible name, or `text`; "": its icon alone. */
export function button(id: ControlId, options: { text?: string; icon?: Icon; title?: string; class?: string }, press: () => void) {
  const named = control(id);
  const { text = named["aria-label"] } = options;
  const element = h(
    "button",
    { type: "button", ...named, title: options.title ?? named["aria-label"], class: options.class ?? "button" },
    options.icon ? icon(options.icon) : null,
    text ? h("span", { class: "text" }, text) : null,
  );
  element.addEventListener("click", press);
  return element;
}

/** What opens a fold; its name is its heading. */
export function foldHandle(id: keyof typeof CONTROLS, ...more: Child[]): HTMLElement {
  return h("summary", { "data-control": id }, icon("chevron"), h("span", { class: "heading" }, CONTROLS[id]), ...more);
}

/** A control below its accessible name. */
export function field(id: keyof typeof CONTROLS, element: HTMLElement): HTMLElement {
  for (const [name, value] of Object.entries(control(id))) element.setAttribute(name, value);
  return h("label", { class: "field" }, h("span", { class: "caption" }, CONTROLS[id]), element);
}
