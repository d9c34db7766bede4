/** What the Lab has for the match: one tick, the next goal, how long decisions hold, how policies are swapped, the seed and a new match. */

import type { Swap } from "../../contract/protocol";
import { MOST_REPEAT, SWAP_INTERVAL_MS_MIN, SWAPS } from "../../contract/tables";
import { button, field, focused, h, select, selectValue } from "../../ui/dom";
import type { PanelSession, PanelView } from "../panel";

type SwapName = Swap | "blend"; // fading in is a way to swap now
const SWAP_NAMES: Record<SwapName, string> = { now: "now", at_reset: "at reset", blend: "blend" };
const BLEND_MS = 800; // what "blend" means where no time was set
const LARGEST_SEED = 2 ** 32 - 1;

export function buildBench({ session, signal }: PanelView): HTMLElement {
  const alone = session.model.get("drill")?.spec.sides === 1;
  const tick = button("step", { icon: "tick", title: "Step: advance by one tick of the simulation" }, () => session.step("tick"));
  const goal = button("next-goal", { icon: "goal", title: "Next goal: fast-forward until someone scores" }, () => session.skipToGoal());

  const [seed, reset, dice] = buildSeed(session, alone, () => follow(seed));
  const swap = buildSwap(session, signal);
  const number = (key: "action_repeat" | "swap_interval_ms", min: number, max: number, title: string) => {
    const input = h("input", { type: "number", min, max, step: 1, inputmode: "numeric", title });
    input.addEventListener("change", () => {
      if (input.value !== "") session.setShow({ [key]: Math.min(Math.max(Math.round(Number(input.value)), min), max) });
      follow(input); // what was taken, in the place of what was typed
    });
    return input;
  };
  const repeat = number("action_repeat", 1, MOST_REPEAT, "Ticks for which a decision lasts");
  const interval = number("swap_interval_ms", SWAP_INTERVAL_MS_MIN, 600_000, "Minimum time between two policy swaps, in milliseconds");
  const repeating = field("match-repeat", repeat);
  repeating.hidden = session.pictures; // how often an environment decides is a setting of its training

  goal.hidden = alone; // a drill of one side has no goals
  const swapping = field("swap", swap);
  const pausing = field("swap-interval", interval);
  swapping.hidden = pausing.hidden = session.model.standalone === true; // nothing trains there

  const follow = (written?: HTMLInputElement) => {
    const { show } = session;
    const own = session.model.get("drill")?.spec.action_repeat ?? 1;
    const values = [
      [seed, show.seed],
      [repeat, show.action_repeat || own],
      [interval, show.swap_interval_ms],
    ] as const;
    for (const [input, value] of values) if (input === written || !focused(input)) input.value = String(value);
  };
  session.events.on("show", () => follow(), signal);
  follow();
  return h(
    "section",
    { class: "bench", "aria-label": "Match by hand" },
    h("h3", {}, "Match"),
    session.pictures ? null : h("div", { class: "cluster" }, tick, goal), // the line has the one step of an environment
    h("div", { class: "cluster" }, field("match-seed", seed), reset, dice),
    h("div", { class: "cluster" }, repeating, swapping, pausing),
  );
}

/** The seed, the match from it and one from a random seed; `taken`: what was typed is. */
function buildSeed(session: PanelSession, alone: boolean, taken: () => void): [seed: HTMLInputElement, reset: HTMLElement, dice: HTMLElement] {
  const seed = h("input", { type: "number", min: 0, max: LARGEST_SEED, step: 1, inputmode: "numeric" });
  const chosen = () => {
    const value = Math.trunc(Number(seed.value));
    return value >= 0 && value <= LARGEST_SEED ? value : session.show.seed;
  };
  const from = alone ? "start again from this seed" : "start a new match from this seed, at 0 – 0";
  const reset = button("reset-match", { icon: "reset", title: `Reset match: ${from}` }, () => session.resetMatch(chosen()));
  const dice = button("random-seed", { icon: "dice", title: "Random seed: start from a random seed" }, () =>
    session.resetMatch(crypto.getRandomValues(new Uint32Array(1))[0]!),
  );
  seed.addEventListener("keydown", ({ key }) => {
    if (key !== "Enter") return;
    session.resetMatch(chosen());
    taken();
  });
  return [seed, reset, dice];
}

/** When a new policy takes over. To fade in needs both policies here. */
function buildSwap(session: PanelSession, signal: AbortSignal): HTMLSelectElement {
  const names = [...SWAPS, "blend" as const].filter((name) => name !== "blend" || !(session.pictures || session.elsewhere));
  const swap = select(
    { title: "When a new policy takes over: at the next decision, when the next game starts, or gradually" },
    names.map((name) => [name, SWAP_NAMES[name]]),
  );
  let blend = BLEND_MS; // the last that was set
  swap.addEventListener("change", () => {
    const chosen = swap.value as SwapName;
    if (chosen === "at_reset") session.setShow({ swap: "at_reset" });
    else session.setShow({ swap: "now", blend_ms: chosen === "blend" ? blend : 0 });
  });
  const follow = () => {
    const { show } = session;
    blend = show.blend_ms || blend;
    selectValue(swap, show.swap === "at_reset" ? "at_reset" : show.blend_ms > 0 ? "blend" : "now");
  };
  session.events.on("show", follow, signal);
  follow();
  return swap;
}
