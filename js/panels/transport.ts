/** Controls of the match: play, pause, step, reset, speed, players and seed. */

import type { Mode, Swap } from "../contract/protocol";
import { MODES, SPEEDS, SWAPS } from "../contract/tables";
import { button, field, h, select, selectValue, setAttribute, setOptions } from "../ui/dom";
import type { Panel, PanelView } from "./panel";

const MODE_NAMES: Record<Mode, string> = {
  ai_vs_ai: "AI vs AI",
  human_vs_ai: "You vs AI",
  sandbox: "AI vs opponent",
};
const MODE_NAMES_ALONE: Partial<Record<Mode, string>> = { ai_vs_ai: "AI", human_vs_ai: "You" };
const MODE_NAMES_DREAMER: Partial<Record<Mode, string>> = { human_vs_ai: "You vs opponent", sandbox: "AI vs opponent" }; // it plays blue only
const SPEED_NAMES: Record<number, string> = { 0.25: "¼ ×", 0.5: "½ ×" };
type SwapName = Swap | "blend"; // fading in is a way to swap now
const SWAP_NAMES: Record<SwapName, string> = { now: "now", at_reset: "at reset", blend: "blend" };
const BLEND_MS = 800; // what "blend" means where no time was set
const LARGEST_SEED = 2 ** 32 - 1;

export const transport: Panel = { area: "play", build };

function build({ session, signal }: PanelView): HTMLElement {
  const play = button("Play", { icon: "play", title: "Play: run the match" }, () => session.setShow({ playing: true }));
  const pause = button("Pause", { icon: "pause", title: "Pause: freeze the match" }, () => session.setShow({ playing: false }));
  const tick = button("Step", { icon: "tick", text: "Step", title: "Step: advance by one tick of the simulation" }, () => session.step("tick"));
  const decision = button("Step decision", { icon: "decision", text: "Step decision", title: "Step decision: advance to the players' next decision" }, () =>
    session.step("decision"),
  );

  const goal = button("Next goal", { icon: "goal", text: "Next goal", title: "Next goal: fast-forward until someone scores" }, () => session.skipToGoal());

  const seed = h("input", { type: "number", min: 0, max: LARGEST_SEED, step: 1, class: "seed", inputmode: "numeric" });
  const chosenSeed = () => {
    const value = Math.trunc(Number(seed.value));
    return value >= 0 && value <= LARGEST_SEED ? value : session.show.seed;
  };
  const reset = button("Reset match", { icon: "reset", text: "Reset match", title: "Reset match: start a new match from this seed, at 0 – 0" }, () =>
    session.resetMatch(chosenSeed()),
  );
  const dice = button("Random seed", { icon: "dice", class: "button quiet", title: "Random seed: start a new match from a random seed" }, () =>
    session.resetMatch(crypto.getRandomValues(new Uint32Array(1))[0]!),
  );
  seed.addEventListener("keydown", (event) => event.key === "Enter" && session.resetMatch(chosenSeed()));

  const speed = select(
    { title: "Speed of the match" },
    SPEEDS.map((value) => [String(value), speedName(value)]),
  );
  speed.addEventListener("change", () => session.setShow({ speed: Number(speed.value) }));
  const mode = select({ title: "Who plays" }, []);
  mode.addEventListener("change", () => session.setShow({ mode: mode.value as Mode }));
  const opponent = select({}, []);
  const swap = select(
    { title: "When a new policy takes over: at the next decision, when the next game starts, or gradually" },
    [...SWAPS, "blend" as const].map((name) => [name, SWAP_NAMES[name]]),
  );
  let blend = session.show.blend_ms || BLEND_MS;
  swap.addEventListener("change", () => {
    const chosen = swap.value as SwapName;
    if (chosen === "at_reset") session.setShow({ swap: "at_reset" });
    else session.setShow({ swap: "now", blend_ms: chosen === "blend" ? blend : 0 });
  });
  opponent.addEventListener("change", () => session.setShow({ opponent: opponent.value }));

  const rival = field("Opponent", opponent);
  const players = field("Mode", mode);
  if (session.pictures) {
    for (const element of [decision, goal, players]) element.hidden = true;
    tick.title = "Step: advance by one environment step";
  }
  if (session.pictures || session.dream.on) swap.querySelector("option[value=blend]")?.remove();

  const offerPlayers = () => {
    const { baselines = [], sides = 2 } = session.model.get("drill")?.spec ?? {};
    const names = sides === 1 ? MODE_NAMES_ALONE : session.dream.on ? MODE_NAMES_DREAMER : MODE_NAMES;
    setOptions(
      mode,
      MODES.flatMap((value) => (names[value] ? ([[value, names[value]]] as const) : [])),
    );
    const known = Object.entries(session.rivals).filter(([, policy]) => policy || session.kernel.connected);
    setOptions(
      opponent,
      [...new Set([...baselines, "random", "idle", ...known.map(([name]) => name)])].map((name) => [name, name]),
    );
    rival.hidden = sides === 1;
    follow();
  };
  const follow = () => {
    const show = session.show;
    setAttribute(play, "aria-pressed", String(show.playing));
    setAttribute(pause, "aria-pressed", String(!show.playing));
    selectValue(speed, String(show.speed), speedName(show.speed));
    selectValue(mode, show.mode);
    blend = show.blend_ms || blend;
    selectValue(swap, show.swap === "at_reset" ? "at_reset" : show.blend_ms > 0 ? "blend" : "now");
    selectValue(opponent, session.opponent);
    opponent.disabled = show.mode !== "sandbox" && !session.dream.on;
    opponent.title = opponent.disabled ? "Available in the mode AI vs opponent" : "Plays the other side: a script or a trained policy";
    if (document.activeElement !== seed) seed.value = String(show.seed);
  };
  for (const event of ["drill", "rivals", "status"] as const) session.events.on(event, offerPlayers, signal);
  session.events.on("show", follow, signal);
  offerPlayers();

  return h(
    "div",
    { class: "transport", role: "group", "aria-label": "Match controls" },
    h("div", { class: "cluster" }, h("div", { class: "pair" }, play, pause), tick, decision, goal, reset),
    h("div", { class: "cluster" }, field("Speed", speed), field("Seed", seed), dice),
    h("div", { class: "cluster" }, players, rival, field("Swap", swap)),
  );
}

function speedName(speed: number): string {
  return SPEED_NAMES[speed] ?? `${speed} ×`;
}
