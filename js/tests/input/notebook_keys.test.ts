// @vitest-environment happy-dom
/** Keys in the widget and the notebook around it: who hears what. */
import { afterEach, beforeEach, expect, it } from "vitest";
import { giveBackKeys, keepKeys } from "../../input/notebook_keys";
import { h } from "../../ui/dom";

let end: AbortController;
let cell: HTMLElement;
let root: HTMLElement;
let field: HTMLInputElement;
let canvas: HTMLElement;
/** As JupyterLab listens: at the document, while the event comes down; the attribute as it is then. */
let lab: [key: string, suppressed: boolean][];
/** As others listen: outside, while the event comes up. */
let outside: string[];

beforeEach(() => {
  end = new AbortController();
  field = h("input", { type: "text" });
  canvas = h("canvas", { tabindex: 0 });
  root = h("div", { class: "dshq-widget" }, field, canvas);
  cell = h("div", { tabindex: -1 }, h("div", {}, root));
  document.body.append(cell);
  [lab, outside] = [[], []];
  const coming = (event: KeyboardEvent) => lab.push([event.code, (event.target as Element).closest("[data-lm-suppress-shortcuts]") !== null]);
  document.addEventListener("keydown", coming, { capture: true, signal: end.signal });
  cell.addEventListener("keydown", (event) => outside.push(event.code), { signal: end.signal });
  keepKeys(root, end.signal);
});
afterEach(() => {
  end.abort();
  cell.remove();
});

const press = (on: HTMLElement, code: string, more: KeyboardEventInit = {}) =>
  on.dispatchEvent(new KeyboardEvent("keydown", { code, bubbles: true, composed: true, ...more }));

it("keeps what is typed", () => {
  press(canvas, "KeyB");
  press(field, "KeyD");
  expect(lab).toEqual([["KeyB", true], ["KeyD", true]]); // biome-ignore format: a table
  expect(outside).toEqual([]);
});

it("lets the notebook have Ctrl+S and Cmd+S, and keeps the next key again", () => {
  press(canvas, "KeyS", { ctrlKey: true });
  press(field, "KeyS", { metaKey: true });
  press(canvas, "KeyS");
  expect(lab).toEqual([["KeyS", false], ["KeyS", false], ["KeyS", true]]); // biome-ignore format: a table
  expect(outside).toEqual(["KeyS", "KeyS"]);
});

it("lets a text field undo, copy and paste", () => {
  press(field, "KeyZ", { ctrlKey: true });
  press(canvas, "KeyZ", { ctrlKey: true });
  expect(lab).toEqual([["KeyZ", true], ["KeyZ", false]]); // biome-ignore format: a table
});

it("gives the focus to what is around the widget, or to nobody", () => {
  canvas.focus();
  giveBackKeys(canvas);
  expect(document.activeElement).toBe(cell);
  cell.removeAttribute("tabindex");
  canvas.focus();
  giveBackKeys(canvas);
  expect(document.activeElement).toBe(document.body);
});
