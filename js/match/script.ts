/** What was done and decided in a recording, in its order: a show or a replay plays it again. */
import type { Recording, StampedInput } from "../contract/protocol";

export class Script {
  private done = 0; // inputs
  private decisions = 0; // actions

  constructor(readonly recording: Recording) {}

  /** Whether the match at `tick` has come to the recording's end. */
  over(tick: number): boolean {
    return tick >= this.recording.ticks;
  }

  /** The inputs that are due before the tick `tick`, each once. */
  *inputs(tick: number): Generator<StampedInput> {
    const { inputs } = this.recording;
    while (this.done < inputs.length && inputs[this.done]!.tick <= tick) yield inputs[this.done++]!;
  }

  /** Writes the actions of the next decision, at `tick`. Throws an Error where the recording lacks them. */
  decide(actions: Int32Array, tick: number): void {
    const { recording } = this;
    const next = recording.actions.slice(this.decisions, this.decisions + actions.length);
    if (next.length < actions.length) throw new Error(`The recording ends at tick ${recording.ticks} but has no actions for tick ${tick}. Record it again.`);
    actions.set(next);
    this.decisions += actions.length;
  }
}
