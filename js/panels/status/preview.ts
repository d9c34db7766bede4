/**
 * *See what it can become*: before anything is learned, the best policy that comes with the package plays the other side for a while. Then
 * the match is again what it was, in every view, unless somebody has chosen another one.
 */
import type { ShowTrait } from "../../contract/protocol";
import { SHOW_DEFAULTS } from "../../contract/tables";
import { button, h } from "../../ui/dom";
import type { PanelView } from "../panel";

const BEST = "gold";
const SHOWN_MS = 30_000;
const TOLD = "Orange is gold, after 60 million agent steps.";

type Before = Pick<ShowTrait, "mode" | "opponent">;
const seen = new WeakMap<object, Before>(); // what each session showed before, whichever of its views asked

export function buildPreview({ session, signal }: PanelView): HTMLElement {
  let timer: ReturnType<typeof setTimeout> | undefined;
  let due = false; // it ended while this page showed a duel, which is not to end with it
  const shared = (): Before => ({ ...SHOW_DEFAULTS, ...session.model.get("show") });
  const learned = () => (session.model.get("policy")?.version ?? 0) > 0;
  /** Whether nobody has chosen another match meanwhile; "": gold could not be had. */
  const stands = () => shared().mode === "sandbox" && [BEST, ""].includes(shared().opponent);
  /** Also one of a page that is gone, and gold as a person chose it: there is a way back. */
  const shown = () => stands() && (seen.has(session) || (!learned() && shared().opponent === BEST));
  const back = (leaving = false) => {
    clearTimeout(timer);
    timer = undefined;
    due = session.alone && !leaving;
    if (due) return;
    const before = seen.get(session) ?? { mode: SHOW_DEFAULTS.mode, opponent: SHOW_DEFAULTS.opponent };
    seen.delete(session);
    if (stands()) session.setShow(before);
    follow();
  };
  const begin = () => {
    const { mode, opponent } = shared();
    seen.set(session, { mode, opponent });
    session.setShow({ mode: "sandbox", opponent: BEST, playing: true });
    timer = setTimeout(() => back(), SHOWN_MS);
    follow();
  };
  const see = button("preview", { class: "button preview", title: "See what it can become: the trained policy gold plays orange" }, begin);
  const leave = button("preview-leave", { class: "button preview", title: "Back to your match" }, () => back());
  const told = h("span", { role: "status" }, TOLD);
  const element = h("div", { class: "previewing" }, told, see, leave);
  const follow = () => {
    const on = shown();
    element.hidden = !on && (learned() || !(BEST in session.facing.rivals) || !session.kernel.connected);
    see.hidden = on;
    leave.hidden = told.hidden = !on;
  };
  const look = (chosen = false) => {
    if (chosen && timer !== undefined && !(stands() && seen.has(session))) {
      clearTimeout(timer); // somebody has chosen another match, or another view went back
      timer = undefined;
      seen.delete(session);
    }
    if ((timer !== undefined && learned()) || (due && !session.alone)) back();
    else follow();
  };
  const ended = () => (timer !== undefined || due) && back(true);
  for (const event of ["rivals", "drill", "status", "history"] as const) session.events.on(event, () => look(), signal);
  session.events.on("show", () => look(true), signal);
  window.addEventListener("pagehide", ended, { signal });
  signal.addEventListener("abort", ended, { once: true });
  follow();
  return element;
}
