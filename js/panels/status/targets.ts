/** What training has reached: whom the policy beats, after how much training, and how long the next one usually takes on this machine. */
import type { MetricsRow, Target } from "../../contract/protocol";
import { opponentName } from "../../session/player_names";
import { h, setAttribute, setText } from "../../ui/dom";
import { clock, percent } from "../../ui/format";
import type { PanelView } from "../panel";

const LEAST_SHARE = 0.2; // of all matches won, below which a win rate says nothing: who won one and drew the rest has 100 %
const RATES: Record<string, [rate: string, share: string]> = {
  beats_random: ["win_rate_random", "win_share_random"],
  beats_script: ["win_rate_ema", "win_share"],
};
const LATE = 2; // times the usual steps: a forecast is right within this factor
const STEADY_ROWS = 3; // of metrics, before their rate is one to forecast by

/**
 * Seconds of training after which a target was beaten; null: not yet, undefined: nobody here knows, since the policy came from a file or
 * nobody plays against that target.
 */
export function beatenAt(rows: readonly MetricsRow[], metric: string): number | null | undefined {
  const told = rows.find((row) => row[metric] !== undefined);
  if (told) return told[metric]!;
  const [rate, share] = RATES[metric] ?? [];
  const measured = rows.filter((row) => rate && row[rate] !== undefined && row.seconds !== undefined);
  const at = measured.findIndex((row) => row[rate!]! > 0.5 && (row[share!] ?? 0) >= LEAST_SHARE);
  if (at >= 0) return at === 0 ? undefined : measured[at]!.seconds;
  return rate || rows.length === 0 || rows.at(-1)!.target_share !== undefined ? null : undefined;
}

/** How long until the target is usually beaten, in words; "" where that is unknown. */
export function forecast(rows: readonly MetricsRow[], { steps }: Pick<Target, "steps">): string {
  const last = rows.at(-1);
  const [rate, made] = [last?.agent_steps_per_second ?? 0, last?.agent_steps ?? 0];
  if (rows.length < STEADY_ROWS || rate <= 0 || steps <= 0) return "";
  const seconds = (steps - made) / rate;
  if (made > LATE * steps) return "takes longer than usual";
  if (made > steps) return "usually beaten by now";
  if (seconds < 5) return "soon";
  if (seconds < 55) return `about ${5 * Math.round(seconds / 5)} seconds on this machine`;
  const minutes = Math.round(seconds / 60);
  return minutes < 90 ? `about ${minutes} minute${minutes === 1 ? "" : "s"} on this machine` : `about ${Math.round(minutes / 60)} hours on this machine`;
}

/** The ladder, which is there from the start, and the word on the next one. A drill of one side has none. */
export function buildTargets({ session, signal }: PanelView): { list: HTMLElement; next: HTMLElement } {
  const list = h("ol", { class: "targets", "aria-label": "Targets" });
  const said = h("p", { class: "next-target", role: "status" });
  let items: { target: Target; item: HTMLElement; when: HTMLElement }[] = [];

  const rebuild = () => {
    items = offered(session.model.get("config")?.targets, session.model.get("drill")?.spec.baselines[0]).map((target) => {
      const when = h("span", { class: "when" });
      const item = h("li", { class: "target" }, `${opponentName(target.name)} `, when);
      return { target, item, when };
    });
    list.replaceChildren(...items.map(({ item }) => item));
    follow();
  };
  const follow = () => {
    const { rows } = session.history;
    const times = items.map(({ target }) => beatenAt(rows, target.metric));
    const next = times.indexOf(null);
    items.forEach(({ target, item, when }, k) => {
      const seconds = times[k];
      item.hidden = seconds === undefined;
      setText(when, typeof seconds === "number" ? clock(seconds) : "");
      setAttribute(item, "data-reached", typeof seconds === "number");
      setAttribute(item, "data-next", k === next);
      const name = opponentName(target.name);
      setAttribute(item, "aria-label", typeof seconds === "number" ? `${name}: beaten after ${clock(seconds)} of training` : `${name}: not beaten yet`);
      item.title = `Beats ${name}: wins more than half of the decided matches, and a fifth of all`;
    });
    list.hidden = session.model.get("drill")?.spec.sides === 1 || times.every((seconds) => seconds === undefined);
    setText(said, next < 0 || list.hidden ? "" : sayNext(rows, items[next]!.target));
  };
  session.events.on("history", follow, signal);
  session.events.on("drill", rebuild, signal);
  rebuild();
  return { list, next: said };
}

function sayNext(rows: readonly MetricsRow[], target: Target): string {
  if (rows.length === 0) return "";
  const name = opponentName(target.name);
  const share = rows.at(-1)!.target_share;
  const won = share === undefined ? "" : ` Now it wins ${percent(share)}.`;
  const when = forecast(rows, target);
  return when || won ? `Next, ${name}${when && `: ${when}`}.${won}` : "";
}

/** The kernel's, or without a word from it random play and the script. */
function offered(targets: readonly Target[] | undefined, script: string | undefined): Target[] {
  if (targets) return [...targets];
  const plain = [{ name: "random", metric: "beats_random", steps: 0 }];
  return script ? [...plain, { name: script, metric: "beats_script", steps: 0 }] : plain;
}
