// @vitest-environment happy-dom
import { afterEach, beforeEach, expect, it } from "vitest";
import { keyHelp, listenToKeys } from "../input";
import type { KeyInput } from "../protocol";
import { spec } from "./fakes";

let canvas: HTMLCanvasElement;
let sent: [code: string, down: boolean][];
let leaked: string[];
let ending: AbortController;

beforeEach(() => {
  canvas = document.createElement("canvas");
  canvas.tabIndex = 0;
  document.body.replaceChildren(canvas);
  sent = [];
  leaked = [];
  ending = new AbortController();
  listenToKeys(canvas, { spec }, (events: KeyInput[]) => sent.push(...events.map((e) => [e.code, e.down] as [string, boolean])), ending.signal);
  document.body.addEventListener("keydown", (event) => leaked.push(event.code), { signal: ending.signal });
  canvas.focus();
});
afterEach(() => ending.abort());

function press(code: string, type = "keydown", more: KeyboardEventInit = {}): KeyboardEvent {
  const event = new KeyboardEvent(type, { code, bubbles: true, cancelable: true, ...more });
  canvas.dispatchEvent(event);
  return event;
}

it("sends the drill's keys once, down and up, and keeps them from the page", () => {
  const down = press("KeyW");
  press("KeyW");
  press("KeyW", "keyup");
  expect(sent).toEqual([["KeyW", true], ["KeyW", false]]);
  expect(down.defaultPrevented).toBe(true);
  expect(leaked).toEqual([]);
});

it("keeps every other key from the notebook's shortcuts without eating it", () => {
  expect(press("KeyX").defaultPrevented).toBe(false);
  expect(sent).toEqual([]);
  expect(leaked).toEqual([]);
});

it("leaves Tab and the browser's own shortcuts alone", () => {
  expect(press("Tab").defaultPrevented).toBe(false);
  expect(press("KeyW", "keydown", { ctrlKey: true }).defaultPrevented).toBe(false);
  expect(sent).toEqual([]);
  expect(leaked).toEqual(["Tab"]);
});

it("gives the keys back at Escape and lets go of what was held", () => {
  press("KeyW");
  press("Space");
  press("Escape");
  expect(document.activeElement).not.toBe(canvas);
  expect(sent.slice(2)).toEqual([["KeyW", false], ["Space", false]]);
});

it("hears nothing after its end", () => {
  ending.abort();
  press("KeyW");
  expect(sent).toEqual([]);
});

it("explains the keys by choice, as printed on them", () => {
  expect(keyHelp(spec)).toEqual([
    { choice: "move", options: [{ option: "forward", caps: ["W", "↑"] }, { option: "back", caps: ["S"] }] },
    { choice: "dash", options: [{ option: "yes", caps: ["Space"] }] },
  ]);
});
