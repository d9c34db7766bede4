/** Replays a recorded match bit for bit. `dshq_widget/env/replay.py` does the same on the CPU. */
import { hexToBytes } from "@noble/hashes/utils.js";
import type { DrillSpec, Recording, StampedInput } from "../contract/protocol";
import { REST_SECONDS } from "../contract/tables";
import { Body } from "./handles";
import { stateHash } from "./recording";
import type { Game, GameState } from "./rules";
import { Script } from "./script";
import { Show } from "./show";

type Motion = Extract<StampedInput, { kind: "hold" | "throw" }>;

const FIRST_MS = 50; // of a check that is made in slices, in one go: most are short
const SLICE_MS = 8; // of the others
const TICKS_AT_ONCE = 100; // of a match that is checked

/** The state at `recording.ticks`. Throws an Error for a recording of other rules, or one that lacks decisions. */
export function replay(game: Game, spec: DrillSpec, recording: Recording): GameState {
  const state = game.create();
  const run = played(game, spec, recording, state);
  while (!run.next().done);
  return state;
}

/** A show that plays the recording again. Throws an Error where the match does not end as it was recorded. */
export function replayShow(game: Game, spec: DrillSpec, recording: Recording): Show {
  const run = checked(game, spec, recording);
  while (!run.next().done);
  return checkedShow(game, spec, recording);
}

/** Plays the recording to its end, which may take a minute: yields between ticks. Throws an Error where the match does not end as it was recorded. */
export function* checked(game: Game, spec: DrillSpec, recording: Recording): Generator<void, void> {
  if ((yield* hashAtEnd(game, spec, recording)) !== recording.sha256) {
    throw new Error("This replay does not end as it was recorded: the file is damaged. Choose another one.");
  }
}

/** Makes a check in slices, between which others have their turn. Throws an Error, too, where its recording is no longer `wanted`. */
export async function inSlices(check: Generator<void, void>, wanted: () => boolean): Promise<void> {
  for (let until = performance.now() + FIRST_MS; !check.next().done; ) {
    if (performance.now() < until) continue;
    await new Promise((resolve) => setTimeout(resolve));
    if (!wanted()) throw new Error("Something else is shown by now. Load the replay again.");
    until = performance.now() + SLICE_MS;
  }
}

/** The show of a recording that has been checked. */
export function checkedShow(game: Game, spec: DrillSpec, recording: Recording): Show {
  const { rules_hash, seed, start } = recording;
  const show = new Show(game, spec, seed, undefined, new Script(recording));
  if (start) show.restore({ ...start, state: hexToBytes(start.state), score: [0, 0], version: 0, rules_hash, seed, rng: 0 });
  return show;
}

/** Of the state at the recording's end; "" where it cannot be played to there. */
function* hashAtEnd(game: Game, spec: DrillSpec, recording: Recording): Generator<void, string> {
  try {
    const state = game.create();
    const run = played(game, spec, recording, state);
    for (let ticks = 0; !run.next().done; ticks++) if (ticks % TICKS_AT_ONCE === 0) yield;
    return stateHash(state.buffer);
  } catch {
    return "";
  }
}

/**
 * Plays the recording tick by tick in `state`, which holds its beginning at once; yields after each one who has just won: +1 side 0,
 * -1 side 1, 0 nobody. Returns that of the last tick.
 */
export function played(game: Game, spec: DrillSpec, recording: Recording, state: GameState): Generator<number, number> {
  if (recording.rules_hash !== spec.rules_hash) {
    throw new Error(
      `The recording was made with rules ${recording.rules_hash}, but this drill has rules ${spec.rules_hash}. Play it with the drill it was made with.`,
    );
  }
  const held = new Map<string, Motion>();
  const bodies = new Map(spec.drag.map((handle) => [handle.name, new Body(state, handle)]));
  const put = ({ handle, x, y, vx, vy }: Motion) => bodies.get(handle)!.put(x, y, vx, vy);
  const begin = () => {
    held.clear();
    state.practice[0] = 0;
    game.reset(state);
  };
  let { tick, phase, rest } = recording.start ?? { tick: 0, phase: 0, rest: 0 };
  if (recording.start) {
    new Uint8Array(state.buffer).set(hexToBytes(recording.start.state));
  } else {
    state.rng_key[0] = recording.seed;
    begin();
  }

  let repeat = spec.action_repeat;
  const script = new Script(recording);
  const apply = () => {
    for (const input of script.inputs(tick)) {
      if (input.kind === "repeat") repeat = input.ticks;
      if (input.kind === "hold") held.set(input.handle, input);
      if (input.kind === "throw") held.delete(input.handle);
      if (input.kind === "hold" || input.kind === "throw") put(input);
    }
  };

  return (function* () {
    let winner = 0;
    for (; tick < recording.ticks; ) {
      apply();
      held.forEach(put);
      if (rest === 0 && phase === 0) {
        script.decide(state.action, tick);
        game.decide(state);
      }
      game.tick(state);
      tick++;
      winner = 0;
      if (rest > 0) {
        if (--rest === 0) begin();
      } else if (++phase >= repeat) {
        phase = 0;
        if (game.terminated(state) || state.ticks[0]! >= spec.time_limit) {
          winner = game.winner(state);
          rest = Math.max(1, Math.round((winner === 0 ? REST_SECONDS.draw : REST_SECONDS.goal) * spec.tick_rate));
        }
      }
      if (tick < recording.ticks) yield winner;
    }
    apply();
    return winner;
  })();
}
