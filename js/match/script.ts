/** A recording that a show plays again: what was done and decided then takes the place of its deciders. */
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

  /** Writes the actions of the next decision. */
  decide(actions: Int32Array): void {
    actions.set(this.recording.actions.slice(this.decisions, this.decisions + actions.length));
    this.decisions += actions.length;
  }
}
