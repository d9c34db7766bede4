/** Reads a replay that the Share menu saved. */
import type { DrillSpec, Recording } from "../contract/protocol";
import { REPLAY_FORMAT } from "../contract/tables";
import { isCount, longestDecision, longestRest } from "./bounds";
import { MOST_ACTIONS, MOST_INPUTS } from "./recording";

const MOST_TICKS = 1000; // an action stands for 120 ticks at most, and for the rest after an episode

/**
 * The recording in `text`; `name` is the file's. Throws an Error of one or two sentences where it is none, or none of this drill's rules.
 * Whether it is whole shows when it is played (`replayShow`).
 */
export function readReplay(text: string, name: string, spec: DrillSpec): Recording {
  const found = parsed(text);
  const format = found?.format ?? REPLAY_FORMAT;
  if (format !== REPLAY_FORMAT) {
    throw new Error(`${name} has the format ${String(format).slice(0, 20)} of a newer release, and this one reads ${REPLAY_FORMAT}. Update dshq-widget.`);
  }
  const { drill, rules_hash, actions, inputs, ticks = 0, start } = found ?? {};
  const length = ticks - (start?.tick ?? 0);
  if (!found || !drill || !Array.isArray(actions) || !Array.isArray(inputs) || !(length >= 0 && length <= MOST_TICKS * (actions.length + 1))) {
    throw new Error(`${name} is not a replay. Choose a file that Save replay has written.`);
  }
  if (drill !== spec.name) {
    throw new Error(`${name} is a replay of the drill "${drill}", and this is "${spec.name}". Load it in DrillWidget("${drill}").`);
  }
  if (rules_hash !== spec.rules_hash) {
    throw new Error(`${name} was recorded with other rules of the drill "${drill}". Load it where the drill has those rules.`);
  }
  const wrong = wrongIn(found as Recording, spec);
  if (wrong.length > 0) {
    throw new Error(`${name} has ${wrong.join(" and ")} that no match of "${drill}" has. Choose a file that Save replay has written.`);
  }
  return found as Recording;
}

function parsed(text: string): Partial<Recording> | null {
  try {
    return JSON.parse(text) as Partial<Recording> | null;
  } catch {
    return null;
  }
}

/** What no match has of bounds of loops and places in arrays: a recording plays as long as it has decisions for. dshq_widget/env/replay.py does the same. */
function wrongIn({ seed, start, inputs, actions, ticks }: Recording, spec: DrillSpec): string[] {
  const given = inputs.filter((input) => typeof input === "object" && input !== null);
  const { tick, phase, rest } = start ?? { tick: 0, phase: 0, rest: 0 };
  const repeats = given.flatMap((input) => (input.kind === "repeat" ? [input.ticks] : []));
  const moved = given.flatMap((input) => (input.kind === "hold" || input.kind === "throw" ? [input] : []));
  const handles = spec.drag.map((handle) => handle.name);
  const wrong: Record<string, boolean> = {
    "a seed": !isCount(seed, 2 ** 32 - 1),
    "a tick": ![tick, ticks].every((value) => isCount(value)),
    "a pause": !isCount(rest, longestRest(spec)),
    "a decision's length": ![phase, ...repeats].every((value) => isCount(value, longestDecision(spec))),
    "an action": !actions.every((action) => isCount(action, spec.n_actions - 1)),
    "a handle": !moved.every(({ handle }) => handles.includes(handle)),
    "a place": !moved.every(({ x, y, vx, vy }) => [x, y, vx, vy].every(Number.isFinite)),
    "an input": given.length < inputs.length,
    "a length": actions.length > MOST_ACTIONS || inputs.length > MOST_INPUTS,
  };
  return Object.keys(wrong).filter((name) => wrong[name]);
}
