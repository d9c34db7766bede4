/**
 * Who learns: both sides, or blue only, against one opponent that stays as it is. It is the setting `opponents` in words; the match
 * then shows that opponent, where this page can play it.
 */
import { runSettings } from "../../session/settings/run_settings";
import { field, h, select, setOptions, setText } from "../../ui/dom";
import type { PanelSession, PanelView } from "../panel";

const KEY = "opponents";
const MOST = 8; // policies that are offered
const LATER = "Takes effect when training restarts: press Stop, then Train.";

/** Hidden in a drill of one side, and for an algorithm that has no such setting. */
export function buildWhoLearns({ session, signal }: PanelView): HTMLElement {
  const chosen = select({}, []);
  const help = h("p", { class: "help" });
  const element = h("div", { class: "who-learns" }, h("div", { class: "cluster" }, field("who-learns", chosen)), help);

  const both = () => String(runSettings(session.model.get("config")).defaults[KEY] ?? "");
  const now = () => String(session.drafts.values[KEY] ?? runSettings(session.model.get("config")).values[KEY] ?? "");
  chosen.addEventListener("change", () => {
    session.drafts.set(KEY, chosen.value);
    const opponent = alone(chosen.value);
    const scripts = ["random", ...(session.model.get("drill")?.spec.baselines ?? [])];
    if (opponent && [...scripts, ...Object.keys(session.facing.rivals)].includes(opponent)) session.setShow({ mode: "sandbox", opponent });
    else if (session.show.mode === "sandbox") session.setShow({ mode: "ai_vs_ai" });
  });
  let known = "";
  const follow = () => {
    const { spec } = session.model.get("drill") ?? {};
    element.hidden = spec?.sides === 1 || !(KEY in runSettings(session.model.get("config")).schema);
    if (element.hidden) return;
    const fixed = [...(spec?.baselines ?? []), "random", ...policies(session).slice(0, MOST)];
    const offered: [string, string][] = [[both(), "Both sides"], ...fixed.map((name): [string, string] => [`${name}=1`, `Blue only, against ${name}`])];
    const mine = now();
    const found = offered.find(([shares]) => same(shares, mine));
    if (!found) offered.push([mine, alone(mine) ? `Blue only, against ${alone(mine)}` : "Custom"]);
    const text = String(offered);
    if (text !== known) setOptions(chosen, offered);
    known = text;
    chosen.value = found?.[0] ?? mine;
    const waits = session.status === "training" && KEY in session.drafts.values;
    setText(help, [sentence(mine), waits ? LATER : ""].filter(Boolean).join(" "));
  };
  for (const name of ["config", "league", "drill", "status"] as const) session.events.on(name, follow, signal);
  follow();
  return element;
}

/** What the shares mean, in one sentence. */
export function sentence(shares: string): string {
  const opponent = alone(shares);
  if (opponent) return `Only blue learns. It plays every practice game against ${opponent}, which stays as it is.`;
  const parts = [...table(shares)].map(
    ([name, share]) => `${name === "self" ? "itself" : name === "pool" ? "earlier versions" : name} ${Number((100 * share).toFixed(1))}%`,
  );
  return `Against ${parts.join(", ")}. Both sides learn only against itself.`;
}

/** The one opponent that never learns and has all games; "": there is none. */
function alone(shares: string): string {
  const [[name, share] = ["", 0], ...others] = table(shares);
  return others.length === 0 && share === 1 && name !== "self" && name !== "pool" ? name : "";
}

function table(shares: string): Map<string, number> {
  const pairs = shares.split(",").map((part) => part.split("=").map((word) => word.trim()));
  return new Map(pairs.map(([name = "", share]) => [name, Number(share)]));
}

function same(one: string, other: string): boolean {
  const [a, b] = [table(one), table(other)];
  return a.size === b.size && [...a].every(([name, share]) => b.get(name) === share);
}

/** Policies that may be opponents where the kernel trains: of the ladder, then versions of the league, the champion and the newest first. */
export function policies({ model }: Pick<PanelSession, "model">): string[] {
  const { start } = model.get("config") ?? {};
  const snapshots = (model.get("league") ?? []).filter(({ pinned }) => !pinned);
  snapshots.sort((a, b) => Number(b.champion) - Number(a.champion) || b.version! - a.version!);
  return start ? [...start.offered, ...snapshots.map(({ name }) => name)] : [];
}
