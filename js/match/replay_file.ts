/** Reads a replay that the Share menu saved. */
import type { DrillSpec, Recording } from "../contract/protocol";
import { REPLAY_FORMAT } from "../contract/tables";

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
  return found as Recording;
}

function parsed(text: string): Partial<Recording> | null {
  try {
    return JSON.parse(text) as Partial<Recording> | null;
  } catch {
    return null;
  }
}
