/** Numbers that no match has: they would be bounds of loops, and of pauses that never end. dshq_widget/env/replay.py and widget/page_protocol.py have the same. */
import type { DrillSpec, Snapshot } from "../contract/protocol";
import { MOST_REPEAT, REST_SECONDS } from "../contract/tables";

export function isCount(value: unknown, most = Number.MAX_SAFE_INTEGER): boolean {
  return Number.isInteger(value) && (value as number) >= 0 && (value as number) <= most;
}

/** Ticks per decision, at most. */
export function longestDecision(spec: Pick<DrillSpec, "action_repeat">): number {
  return Math.max(MOST_REPEAT, spec.action_repeat);
}

/** Ticks after an episode, at most. */
export function longestRest(spec: Pick<DrillSpec, "tick_rate">): number {
  return Math.max(...Object.values(REST_SECONDS)) * spec.tick_rate + 1;
}

/** What a snapshot has that no match has; in its state an episode has gone on for `ticks`, `memory` are its bytes. Empty where it is one. */
export function wrongInSnapshot(given: Snapshot, ticks: number, memory: ArrayBuffer, spec: DrillSpec): string[] {
  const { tick, score, version, seed, rng, phase, rest } = given;
  const wrong: Record<string, boolean> = {
    "a tick": !isCount(tick) || !isCount(ticks, spec.time_limit + longestDecision(spec) + longestRest(spec)),
    "a score": !Array.isArray(score) || score.length !== 2 || !score.every(Number.isFinite),
    "a version": !isCount(version),
    "a seed": ![seed, rng].every((value) => isCount(value, 2 ** 32 - 1)),
    "a decision's length": !isCount(phase, longestDecision(spec)),
    "a pause": !isCount(rest, longestRest(spec)),
    "a memory": memory.byteLength % 4 !== 0 || !new Float32Array(memory).every(Number.isFinite),
  };
  return Object.keys(wrong).filter((name) => wrong[name]);
}
