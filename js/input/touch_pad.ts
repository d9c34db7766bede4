/** The touch pad: a stick and buttons below the pitch, shown while a person plays on a touch screen. */

import type { DrillSpec } from "../contract/protocol";
import { h } from "../ui/dom";
import type { HeldKeys } from "./held_keys";
import { padLayoutOf, stickCodes } from "./pad_layout";

interface TouchPad {
  readonly element: HTMLElement;
  /** Another drill: another pad. */
  rebuild(spec: DrillSpec): void;
  show(wanted: boolean): void;
}

export function buildTouchPad(keys: HeldKeys): TouchPad {
  const element = h("div", { class: "touch-pad", role: "group", "aria-label": "Touch controls", hidden: true });

  const rebuild = (spec: DrillSpec) => {
    const controls = padLayoutOf(spec);
    const knob = h("span", { class: "knob" });
    const stick = h("div", { class: "stick", "aria-hidden": "true" }, knob);
    const steer = (event: PointerEvent) => {
      event.preventDefault(); // the match keeps the focus
      const { left, top, width } = stick.getBoundingClientRect();
      const [x, y] = [((event.clientX - left) / width) * 2 - 1, ((event.clientY - top) / width) * 2 - 1];
      const far = Math.max(1, Math.hypot(x, y));
      knob.style.translate = `${(x / far) * 60}% ${(y / far) * 60}%`;
      keys.hold("stick", stickCodes(controls, x / far, y / far));
    };
    const letGo = () => {
      knob.style.translate = "";
      keys.hold("stick", []);
    };
    stick.addEventListener("pointerdown", (event) => {
      stick.setPointerCapture?.(event.pointerId);
      steer(event);
    });
    stick.addEventListener("pointermove", (event) => event.buttons && steer(event));
    for (const type of ["pointerup", "pointercancel"] as const) stick.addEventListener(type, letGo);

    const buttons = controls.buttons.map(({ code, label }) => {
      const button = h("button", { type: "button", tabindex: -1, "data-control": `touch-${code}`, "aria-label": label }, label);
      button.addEventListener("pointerdown", (event) => {
        event.preventDefault();
        button.setPointerCapture?.(event.pointerId);
        keys.press("pad", code, true);
      });
      for (const type of ["pointerup", "pointercancel"] as const) button.addEventListener(type, () => keys.press("pad", code, false));
      return button;
    });
    const directed = [controls.up, controls.down, controls.left, controls.right].some(Boolean);
    element.replaceChildren(...(directed ? [stick] : []), h("div", { class: "pads" }, ...buttons));
  };

  const show = (wanted: boolean) => {
    if (element.hidden === !wanted) return;
    element.hidden = !wanted;
    keys.hold("stick", []);
    keys.hold("pad", []);
  };
  return { element, rebuild, show };
}
