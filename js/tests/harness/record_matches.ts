/** For tests/env/test_replay.py and the browser: matches of a scripted person, recorded, and played again with js/match/replay.ts. */
import type { DrillTrait, Recording } from "../../contract/protocol";
import { stateHash } from "../../match/recording";
import { replay } from "../../match/replay";
import { loadRules } from "../../match/rules";
import { Show } from "../../match/show";
import { playByScript } from "./scripted_person";

export function recordMatches({ spec, javascript }: DrillTrait, seeds: number[], ticks: number): Recording[] {
  return seeds.map((seed) => {
    const show = new Show(loadRules(javascript), spec, seed, () => 0);
    playByScript(show, seed, ticks);
    return show.recording();
  });
}

/** The hash of the state in which `recording` ends. */
export function replayedHash({ spec, javascript }: DrillTrait, recording: Recording): string {
  return stateHash(replay(loadRules(javascript), spec, recording).buffer);
}
