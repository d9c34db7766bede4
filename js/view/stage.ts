/**
 * The stage: the scoreboard, the canvas of the match with what lies on it, and the strip below.
 *
 * Folder `view`: one place where a widget is shown, and what stands there besides the panels.
 */
import type { Theme } from "../contract/protocol";
import { HeldKeys } from "../input/held_keys";
import { listenToClicks } from "../input/pointers";
import { buildTouchPad } from "../input/touch_pad";
import { h, setText } from "../ui/dom";
import { buildDuelOverlay } from "./duel_overlay";
import type { Frame } from "./frame";
import { buildHint, buildKeyHelp } from "./key_hints";
import { buildMapLegend } from "./map_legend";
import { MatchCanvas } from "./match_canvas";
import { leavePicture } from "./notebook_picture";
import { buildReplayBar } from "./replay_bar";
import { buildScoreboard } from "./scoreboard";
import { buildShare } from "./share_menu";
import type { View } from "./view";

interface StageOptions {
  view: View;
  number: number; // of the view among this widget's
  theme: () => Theme;
}

/** Fills the frame's stage with the match; everything ends with the view's signal. */
export function buildStage({ stage, places }: Frame, { view, number, theme }: StageOptions): void {
  const { session, signal } = view;
  const pitch = h("div", { class: "pitch" });
  const share = buildShare(view, stage, theme, () => board.score());
  const board = buildScoreboard(view, share.button);
  const focusMatch = () => pitch.querySelector<HTMLElement>(".match")?.focus({ preventScroll: true });
  const overlay = buildDuelOverlay(view, focusMatch, () => share.open());
  places.strip.append(buildMapLegend(view), buildKeyHelp(view), buildHint(view));
  stage.append(
    board.element,
    share.menu,
    h("div", { class: "ground" }, pitch, places.chips, buildReplayBar(view, stage, focusMatch), share.saved, overlay),
    places.strip,
  );
  if (!session.pictures) listenToClicks(pitch, (x, y) => session.post({ type: "PICK", id: session.id, view: number, x, y }), signal);

  const held = new HeldKeys(
    (events) => session.post({ type: "INPUT_BATCH", id: session.id, events }),
    (on) => session.takeOver(on),
  );
  stage.append(buildTouchControls(view, pitch, held));
  new MatchCanvas({ view, number, theme, pitch, held });
  leavePicture(view, pitch);
}

/** The touch pad: there while a person plays and the pointer is coarse, or once a finger has been seen. */
function buildTouchControls({ session, signal }: View, pitch: HTMLElement, held: HeldKeys): HTMLElement {
  const pad = buildTouchPad(held);
  const coarse = matchMedia("(pointer: coarse)");
  let finger = false;
  const follow = () => pad.show((coarse.matches || finger) && session.show.mode === "human_vs_ai");
  const rebuild = () => {
    const spec = session.model.get("drill")?.spec;
    if (spec) pad.rebuild(spec);
    follow();
  };
  pitch.addEventListener(
    "pointerdown",
    ({ pointerType }) => {
      finger ||= pointerType === "touch";
      follow();
    },
    { signal },
  );
  coarse.addEventListener("change", follow, { signal });
  session.events.on("drill", rebuild, signal);
  session.events.on("show", follow, signal);
  signal.addEventListener("abort", () => pad.show(false), { once: true });
  rebuild();
  return pad.element;
}

/** Why the match is not drawn by WebGPU in a worker, where it is not. */
export function buildRendererNote({ session, signal }: View, number: number): HTMLElement {
  const note = h("p", { class: "renderer-note" });
  note.hidden = true;
  session.events.on(
    "ready",
    ({ view, renderer, reason }) => {
      if (view !== number) return;
      note.hidden = !reason;
      setText(note, renderer === "canvas2d" ? `Drawn without WebGPU. ${reason}` : reason);
    },
    signal,
  );
  return note;
}
