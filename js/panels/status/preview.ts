/** *See what it can become*: before anything is learned, the best policy that comes with the package plays the other side for a while. */
import { button, h } from "../../ui/dom";
import type { PanelView } from "../panel";

const BEST = "gold";
const SHOWN_MS = 30_000;
const TOLD = "Orange is gold, trained for 60 million decisions.";

export function buildPreview({ session, signal }: PanelView): HTMLElement {
  let before: { mode: typeof session.show.mode; opponent: string } | null = null; // null: it is not shown
  let timer: ReturnType<typeof setTimeout> | undefined;
  const back = () => {
    clearTimeout(timer);
    const { mode, opponent } = session.show;
    if (before && mode === "sandbox" && opponent === BEST) session.setShow(before); // else somebody has chosen another match
    before = null;
    follow();
  };
  const begin = () => {
    const { mode, opponent } = session.show;
    before = { mode, opponent };
    session.setShow({ mode: "sandbox", opponent: BEST, playing: true });
    timer = setTimeout(back, SHOWN_MS);
    follow();
  };
  const see = button("preview", { class: "button preview", title: "See what it can become: the trained policy gold plays orange" }, begin);
  const leave = button("preview-leave", { class: "button preview", title: "Back to your match" }, back);
  const told = h("span", { role: "status" }, TOLD);
  const element = h("div", { class: "previewing" }, told, see, leave);
  const follow = () => {
    const learned = (session.model.get("policy")?.version ?? 0) > 0;
    element.hidden = !before && (learned || !(BEST in session.rivals) || !session.kernel.connected);
    see.hidden = before !== null;
    leave.hidden = told.hidden = before === null;
  };
  const learns = () => (before && (session.model.get("policy")?.version ?? 0) > 0 ? back() : follow());
  for (const event of ["rivals", "drill", "status", "history"] as const) session.events.on(event, learns, signal);
  signal.addEventListener("abort", () => before && back(), { once: true });
  follow();
  return element;
}
