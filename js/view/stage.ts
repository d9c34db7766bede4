/**
 * The match as one sees it: a scoreboard over a focusable canvas. Gives the canvas to the show host, keeps its size, theme and
 * visibility up to date, and puts a fresh canvas there when the old one can draw no more.
 *
 * Folder `view`: one place where a widget is shown, and what stands there besides the panels.
 */

import type { Cursor, RendererKind, Theme, ToWorker } from "../contract/protocol";
import { listenToGamepads } from "../input/gamepad";
import { HeldKeys } from "../input/held_keys";
import { listenToKeys } from "../input/keyboard";
import { listenToClicks, listenToPointers } from "../input/pointers";
import { buildTouchPad } from "../input/touch_pad";
import { ghostOf, playerNames } from "../session/player_names";
import type { ShowHost } from "../session/registry";
import { button, h, setAttribute, setText } from "../ui/dom";
import { clock } from "../ui/format";
import { reducedMotion } from "../ui/theme";
import { buildHint, buildKeyHelp } from "./key_hints";
import { buildMapLegend } from "./map_legend";
import { buildShare } from "./share_menu";
import type { View } from "./view";

export interface StageOptions {
  view: View;
  number: number; // of the view among this widget's
  theme: () => Theme;
}

/** Fills `stage` with the match; everything ends with the view's signal. */
export function buildStage(stage: HTMLElement, { view, number, theme }: StageOptions): void {
  const { session, signal } = view;
  const address = { id: session.id, view: number };
  const pitch = h("div", { class: "pitch" });
  const share = buildShare(view, stage, theme);
  stage.append(buildScoreboard(view, stage, share.button), share.menu, pitch, buildMapLegend(view), buildKeyHelp(view, pitch), buildRendererNote(view, number));
  if (!session.pictures) listenToClicks(pitch, (x, y) => session.post({ type: "PICK", ...address, x, y }), signal);

  const held = new HeldKeys(
    (events) => session.post({ type: "INPUT_BATCH", id: session.id, events }),
    (on) => session.takeOver(on),
  );
  const hint = buildHint(view, pitch);
  pitch.after(buildTouchControls(view, pitch, held));

  let canvas = freshCanvas();
  let attached = false;
  let canvasEnd = new AbortController();

  const measure = () => ({
    width: Math.max(1, pitch.clientWidth),
    height: Math.max(1, pitch.clientHeight),
    dpi: devicePixelRatio || 1,
  });

  const attach = (host: ShowHost, renderer: RendererKind, reason: string) => {
    const offscreen = host.thread === "worker" ? canvas.transferControlToOffscreen() : canvas;
    const message: ToWorker = {
      type: "INIT_CANVAS",
      ...address,
      offscreen,
      ...measure(),
      theme: theme(),
      reducedMotion: reducedMotion(),
      renderer,
      reason,
    };
    host.post(message, offscreen instanceof HTMLCanvasElement ? [] : [offscreen]);
    attached = true;
    sendVisible();
  };

  const place = () => {
    canvasEnd.abort();
    canvasEnd = new AbortController();
    pitch.replaceChildren(canvas, ...(session.pictures ? [] : [hint]));
    if (session.pictures) return; // nothing in it obeys a hand
    const keyboard = {
      get spec() {
        return session.model.get("drill")?.spec ?? null;
      },
    };
    listenToKeys(canvas, keyboard, held, canvasEnd.signal);
    listenToGamepads(canvas, keyboard, held, canvasEnd.signal);
    listenToPointers(canvas, (input) => session.post({ type: "POINTER", ...address, ...input }), canvasEnd.signal);
  };

  const start = async (renderer?: RendererKind, reason?: string) => {
    const host = await session.ready();
    if (host && !signal.aborted) attach(host, renderer ?? host.renderer, reason ?? host.reason);
  };

  let onScreen = true;
  let sentVisible = true;
  const sendVisible = () => {
    const visible = onScreen && !document.hidden;
    if (!attached || visible === sentVisible) return;
    sentVisible = visible;
    session.post({ type: "VISIBLE", ...address, visible });
  };
  const intersection = new IntersectionObserver((entries) => {
    onScreen = entries.at(-1)!.isIntersecting;
    sendVisible();
  });
  intersection.observe(pitch);
  document.addEventListener("visibilitychange", sendVisible, { signal });

  const resize = new ResizeObserver(() => attached && pitch.clientWidth && session.post({ type: "RESIZE", ...address, ...measure() }));
  resize.observe(pitch);
  view.themed(() => attached && session.post({ type: "THEME", ...address, theme: theme(), reducedMotion: reducedMotion() }));

  const followCursor = (now: { view: number; cursor: Cursor }) => {
    if (now.view === number) canvas.dataset.cursor = now.cursor;
  };
  session.events.on("cursor", followCursor, signal);
  session.events.on(
    "lost",
    (lost) => {
      if (lost.view !== number) return;
      const [played, keys] = [canvas.matches(":focus"), [...held.holds("keys")]];
      canvas = freshCanvas();
      place();
      if (played) {
        canvas.focus({ preventScroll: true });
        held.hold("keys", keys); // whoever plays notices nothing
      }
      void (lost.reason ? start("canvas2d", lost.reason) : start());
    },
    signal,
  );
  signal.addEventListener(
    "abort",
    () => {
      canvasEnd.abort();
      intersection.disconnect();
      resize.disconnect();
      if (attached) session.post({ type: "DISPOSE", ...address });
    },
    { once: true },
  );
  place();
  void start();
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

function freshCanvas(): HTMLCanvasElement {
  return h("canvas", {
    class: "match",
    tabindex: 0,
    role: "application",
    "aria-label": "Match",
    "data-lm-suppress-shortcuts": "true",
  });
}

const COUNT_MS = 1000; // between two looks at frames/s
const REST_MS = 1500; // a version that comes sooner after another one does not leap: what never rests tells nothing

/** Names, score, clock and policy version, as on television. */
function buildScoreboard({ session, signal }: View, stage: HTMLElement, share: HTMLElement): HTMLElement {
  const names = [h("span", { class: "name" }), h("span", { class: "name" })] as const;
  const goals = [h("span", { class: "goals" }, "0"), h("span", { class: "goals" }, "0")] as const;
  const time = h("span", { class: "time", title: "Match time since the widget began" }, "0:00");
  const version = h("span", { class: "version" }, "v0");
  const fps = h("span", { class: "fps" });
  let [counted, swapped] = [-Infinity, -Infinity]; // ms: when frames/s were last written, when the policy last changed

  const follow = () => {
    const { version: playing } = session.state;
    const alone = session.model.get("drill")?.spec.sides === 1;
    const [blue, orange] = playerNames(session);
    setText(names[0], blue);
    setText(names[1], alone ? "steps" : orange);
    setAttribute(names[0], "title", blue); // a long name is cut
    setAttribute(names[1], "title", ghostOf(session) >= 0 ? "The ghost: an earlier version of the same training" : names[1].textContent);
    setAttribute(goals[0], "title", alone ? "Return of this episode" : "Goals");
    setAttribute(goals[1], "title", alone ? "Decisions of this episode" : "Goals");
    setText(version, `v${playing}`);
    setAttribute(version, "title", playing > 0 ? `Policy version ${playing} plays` : "No policy was trained yet");
  };
  const state = () => {
    const { tick, score, fps: rate } = session.state;
    const alone = session.model.get("drill")?.spec.sides === 1;
    score.forEach((count, side) => {
      const before = Number(goals[side]!.textContent);
      setText(goals[side]!, String(Math.round(100 * count) / 100));
      if (count === before + 1 && !alone) bump(goals[side]!);
    });
    setText(time, clock(tick / (session.model.get("drill")?.spec.tick_rate ?? 120)));
    const now = performance.now();
    if (now - counted >= COUNT_MS) {
      counted = now;
      setText(fps, rate > 0 ? `${Math.round(rate)} fps` : "");
    }
    const was = version.textContent;
    follow();
    if (version.textContent === was) return;
    if (was !== "v0" && now - swapped >= REST_MS) bump(version);
    swapped = now;
  };
  session.events.on("show", follow, signal);
  session.events.on("past", follow, signal);
  session.events.on("drill", follow, signal);
  session.events.on("state", state, signal);
  state();

  const full = button("Full screen", { icon: "expand", class: "button on-board" }, () => {
    if (document.fullscreenElement) void document.exitFullscreen();
    else void stage.requestFullscreen({ navigationUI: "hide" });
  });
  full.hidden = !document.fullscreenEnabled;

  const side = (index: 0 | 1) => h("span", { class: "side", "data-side": index }, names[index], goals[index]);
  return h(
    "div",
    { class: "scoreboard", role: "group", "aria-label": "Scoreboard" },
    h("span", { class: "corner" }, version),
    h("span", { class: "board" }, side(0), time, side(1)),
    h("span", { class: "corner end" }, fps, share, full),
  );
}

/** A small leap, for those who like motion (style.css leaves it out for the others). */
function bump(element: HTMLElement): void {
  element.classList.remove("bump");
  void element.offsetWidth; // restarts the animation
  element.classList.add("bump");
}

/** Why the match is not drawn by WebGPU in a worker, where it is not. */
function buildRendererNote({ session, signal }: View, number: number): HTMLElement {
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
