/** What training has reached and when: the first goal of a trained policy in the match, and the script beaten. */
import type { MetricsRow, ShowTrait } from "../../contract/protocol";
import { h, setText } from "../../ui/dom";
import { clock } from "../../ui/format";
import type { PanelView } from "../panel";

const NOT_YET = "–:––";
const LEAST_SHARE = 0.2; // of all matches won, below which a win rate says nothing: who won one and drew the rest has 100 %
const LEARNERS: Record<ShowTrait["mode"], readonly number[]> = { ai_vs_ai: [0, 1], human_vs_ai: [1], sandbox: [0] }; // their sides

/**
 * Seconds of training after which more than half of the decided matches against the script were won; null: not yet, undefined: nobody
 * here knows, since the policy came from a file or the history begins later.
 */
export function beatenAt(rows: readonly MetricsRow[]): number | null | undefined {
  const measured = rows.filter(({ win_rate_ema, seconds }) => typeof win_rate_ema === "number" && typeof seconds === "number");
  const at = measured.findIndex(({ win_rate_ema, win_share }) => win_rate_ema! > 0.5 && (win_share ?? 0) >= LEAST_SHARE);
  if (at < 0) return null;
  return at === 0 ? undefined : measured[at]!.seconds;
}

/** The place is kept from the start; a milestone appears with its time. A drill of one side has none. */
export function buildMilestones({ session, signal }: PanelView): HTMLElement {
  const spec = session.model.get("drill")?.spec;
  const script = spec?.baselines[0];
  const goal = milestone("first goal");
  const beaten = milestone(`beats the ${script}`);
  const element = h("p", { class: "milestones", role: "status", "aria-label": "Milestones" }, goal.element, script ? beaten.element : null);
  element.hidden = spec?.sides === 1;

  let untrained = session.state.version === 0; // was seen: what comes first comes while this page looks
  let scored: number | null = null; // s of training
  let since = performance.now(); // ms: when training began, as far as this page saw it
  session.events.on(
    "status",
    () => {
      if (session.model.get("status") !== "training") since = performance.now();
    },
    signal,
  );
  const follow = () => {
    goal.element.hidden = scored === null && !untrained;
    goal.show(scored);
    const seconds = beatenAt(session.history.rows);
    beaten.element.hidden = seconds === undefined;
    beaten.show(seconds ?? null);
  };
  const history = () => {
    if (session.history.rows.length === 0 && session.model.get("status") === "idle") scored = null; // forgotten
    follow();
  };
  session.events.on(
    "state",
    ({ version, events }) => {
      untrained ||= version === 0;
      const goals = events.filter(({ kind, side, version: by }) => kind === "goal" && by > 0 && LEARNERS[session.show.mode].includes(side));
      if (scored !== null || !untrained || goals.length === 0) return;
      scored = session.history.rows.at(-1)?.seconds ?? (performance.now() - since) / 1000; // a row comes about once a second
      follow();
    },
    signal,
  );
  session.events.on("history", history, signal);
  follow();
  return element;
}

function milestone(name: string): { element: HTMLElement; show(seconds: number | null): void } {
  const time = h("span", { class: "when" });
  const element = h("span", { class: "milestone" }, `${name} `, time);
  const show = (seconds: number | null) => {
    setText(time, seconds === null ? NOT_YET : clock(seconds));
    element.toggleAttribute("data-reached", seconds !== null);
  };
  return { element, show };
}
