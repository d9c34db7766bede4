// @vitest-environment happy-dom
import { afterEach, beforeEach, expect, it } from "vitest";
import type { KeyInput, PointerInput } from "../../contract/protocol";
import { gamepadCodes } from "../../input/gamepad";
import { HeldKeys, TAKE_OVER } from "../../input/held_keys";
import { keyHelp } from "../../input/key_names";
import { listenToKeys } from "../../input/keyboard";
import { padLayoutOf, stickCodes } from "../../input/pad_layout";
import { listenToPointers } from "../../input/pointers";
import { buildTouchPad } from "../../input/touch_pad";
import { spec } from "../harness/fakes";

let canvas: HTMLCanvasElement;
let sent: [code: string, down: boolean][];
let taken: boolean[];
let hands: HeldKeys;
let ending: AbortController;

beforeEach(() => {
  canvas = document.createElement("canvas");
  canvas.tabIndex = 0;
  document.body.replaceChildren(canvas);
  sent = [];
  ending = new AbortController();
  taken = [];
  const send = (events: KeyInput[]) => sent.push(...events.map((e) => [e.code, e.down] as [string, boolean]));
  hands = new HeldKeys(send, (on) => taken.push(on));
  listenToKeys(canvas, { spec }, hands, ending.signal);
  canvas.focus();
});
afterEach(() => ending.abort());

function press(code: string, type = "keydown", more: KeyboardEventInit = {}): KeyboardEvent {
  const event = new KeyboardEvent(type, { code, bubbles: true, cancelable: true, ...more });
  canvas.dispatchEvent(event);
  return event;
}

it("sends the drill's keys once, down and up, and the page does not scroll", () => {
  const down = press("KeyW");
  press("KeyW");
  press("KeyW", "keyup");
  expect(sent).toEqual([
    ["KeyW", true],
    ["KeyW", false],
  ]);
  expect(down.defaultPrevented).toBe(true);
});

it("leaves every other key alone", () => {
  expect(press("KeyX").defaultPrevented).toBe(false);
  expect(sent).toEqual([]);
});

it("leaves Tab and the browser's own shortcuts alone", () => {
  expect(press("Tab").defaultPrevented).toBe(false);
  expect(press("KeyW", "keydown", { ctrlKey: true }).defaultPrevented).toBe(false);
  expect(sent).toEqual([]);
});

it("lets go at the end of Cmd, during which macOS tells of no key that goes up; a key that is still down repeats", () => {
  press("KeyW");
  press("MetaLeft", "keydown", { key: "Meta", metaKey: true });
  press("MetaLeft", "keyup", { key: "Meta" });
  press("KeyW", "keydown", { repeat: true });
  expect(sent.map(([, down]) => down)).toEqual([true, false, true]);
});

it("gives the keys back at Escape and lets go of what was held", () => {
  press("KeyW");
  press("Space");
  press("Escape");
  expect(document.activeElement).not.toBe(canvas);
  expect(sent.slice(2)).toEqual([
    ["KeyW", false],
    ["Space", false],
  ]);
});

it("takes no letter for a direction that means what Space does", () => {
  const keys: typeof spec.keys = { Space: ["type", "wait"], KeyW: ["type", "wait"], KeyE: ["type", "energy"] };
  const layout = padLayoutOf({ ...spec, keys });
  expect([layout.up, layout.down, layout.left, layout.right]).toEqual([null, null, null, null]);
  expect(layout.buttons.map(({ label }) => label)).toEqual(["wait", "energy"]);
});

it("hears nothing after its end", () => {
  ending.abort();
  press("KeyW");
  expect(sent).toEqual([]);
});

it("explains the keys by choice, as printed on them", () => {
  expect(keyHelp(spec)).toEqual([
    {
      choice: "move",
      options: [
        { option: "forward", caps: ["W", "↑"] },
        { option: "back", caps: ["S"] },
      ],
    },
    { choice: "dash", options: [{ option: "yes", caps: ["Space"] }] },
  ]);
});

it("takes over while Shift is held, and gives back whatever takes the focus away", () => {
  press("ShiftLeft");
  press("KeyW", "keydown", { shiftKey: true });
  expect([taken, sent]).toEqual([[true], [["KeyW", true]]]);
  press("ShiftLeft", "keyup");
  press("ShiftRight");
  canvas.blur();
  expect(taken).toEqual([true, false, true, false]);
  expect(sent.at(-1)).toEqual(["KeyW", false]);
});

it("leaves Shift to a drill that has a use for it", () => {
  ending.abort();
  ending = new AbortController();
  listenToKeys(canvas, { spec: { ...spec, keys: { ShiftLeft: ["dash", "yes"] } } }, hands, ending.signal);
  press("ShiftLeft");
  expect([taken, sent]).toEqual([[], [["ShiftLeft", true]]]);
});

it("holds a key down as long as any hand does", () => {
  hands.hold("stick", ["KeyW"]);
  press("KeyW");
  hands.hold("stick", []);
  expect(sent).toEqual([["KeyW", true]]);
  press("KeyW", "keyup");
  expect(sent).toEqual([
    ["KeyW", true],
    ["KeyW", false],
  ]);
});

const ball = {
  ...spec,
  keys: {
    KeyW: ["move", "forward"],
    KeyQ: ["move", "strafe left"],
    KeyA: ["turn", "left"],
    ArrowUp: ["move", "forward"],
    ArrowRight: ["turn", "right"],
    Space: ["dash", "yes"],
  } as typeof spec.keys,
};

it("finds directions and buttons in any drill's keys", () => {
  const controls = padLayoutOf(ball);
  expect(controls).toEqual({
    up: "ArrowUp",
    down: null,
    left: "KeyA",
    right: "ArrowRight",
    buttons: [
      { code: "Space", label: "dash" },
      { code: "KeyQ", label: "strafe left" },
    ],
  });
  expect(stickCodes(controls, -0.9, -0.5)).toEqual(["KeyA", "ArrowUp"]);
  expect(stickCodes(controls, 0.2, 0.9)).toEqual([]);
});

it("plays with a gamepad: stick, cross, buttons, and a trigger to take over", () => {
  const pad = (axes: number[], ...down: number[]) => ({ axes, buttons: Array.from({ length: 16 }, (_, k) => ({ pressed: down.includes(k) })) });
  expect(gamepadCodes(ball, pad([0.1, -0.8]))).toEqual(["ArrowUp"]);
  expect(gamepadCodes(ball, pad([0, 0], 14, 12))).toEqual(["KeyA", "ArrowUp"]);
  expect(gamepadCodes(ball, pad([0, 0], 0, 4))).toEqual(["Space", "KeyQ"]);
  expect(gamepadCodes(ball, pad([0, 0], 7))).toEqual([TAKE_OVER]);
  expect(gamepadCodes(ball, { axes: [], buttons: [] })).toEqual([]);
});

it("plays with fingers, and lets go of everything when the pad goes", () => {
  const pad = buildTouchPad(hands);
  document.body.append(pad.element);
  pad.rebuild(ball);
  pad.show(true);
  const dash = pad.element.querySelector<HTMLElement>("[aria-label=dash]")!;
  dash.dispatchEvent(new PointerEvent("pointerdown"));
  expect(sent).toEqual([["Space", true]]);
  pad.show(false);
  expect(sent.at(-1)).toEqual(["Space", false]);
  expect(pad.element.hidden).toBe(true);
});

it("tells of pointers, of the mouse's first button only", () => {
  const received: PointerInput[] = [];
  listenToPointers(canvas, (input) => received.push(input), ending.signal);
  const point = (type: string, init: PointerEventInit = {}) => canvas.dispatchEvent(new PointerEvent(type, { pointerType: "mouse", pointerId: 1, ...init }));
  point("pointerdown", { button: 2 });
  point("pointerdown");
  point("pointermove");
  point("pointercancel");
  point("pointerleave", { pointerType: "touch" });
  expect(received.map(({ kind, touch }) => [kind, touch])).toEqual([
    ["down", false],
    ["move", false],
    ["up", false],
    ["leave", true],
  ]);
});
