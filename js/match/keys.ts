/** Converts held keys, and the options that were chosen with a pointer, to a factored action index. */
import type { DrillSpec, KeyInput } from "../contract/protocol";

export class Keys {
  private readonly bindings = new Map<string, { choice: number; option: number }>();
  private readonly sizes: number[];
  private held: string[] = []; // in the order they went down: the latest wins within a choice
  private readonly chosen: number[]; // by a pointer: the option of each choice while no key says otherwise
  private tapped: string[] = []; // went down and up again since the last decision: they still count once

  constructor(spec: DrillSpec) {
    this.sizes = spec.actions.map((choice) => choice.options.length);
    this.chosen = this.sizes.map(() => 0);
    for (const [code, [name, optionName]] of Object.entries(spec.keys)) {
      const choice = spec.actions.findIndex((action) => action.name === name);
      const option = spec.actions[choice]?.options.indexOf(optionName) ?? -1;
      if (option < 0) throw new Error(`Key ${code} is set to "${name}: ${optionName}", but the drill has no such option. Correct its \`keys\`.`);
      this.bindings.set(code, { choice, option });
    }
  }

  event({ code, down }: KeyInput): void {
    if (!this.bindings.has(code)) return;
    if (down) {
      if (!this.held.includes(code)) this.held.push(code);
      if (!this.tapped.includes(code)) this.tapped.push(code);
    } else {
      this.held = this.held.filter((other) => other !== code);
    }
  }

  /** From now on `choice` is this option, until another one is chosen or all is let go. */
  choose(choice: number, option: number): void {
    this.chosen[choice] = option;
  }

  /** The option of `choice` that was chosen last; the first one before. */
  chosenOf(choice: number): number {
    return this.chosen[choice] ?? 0;
  }

  /** What was pressed and let go while nobody played counts for nothing. */
  forgetTaps(): void {
    this.tapped.length = 0;
  }

  releaseAll(): void {
    this.held.length = this.tapped.length = 0;
    this.chosen.fill(0);
  }

  /** The action for the next decision; asking for it uses up the taps. */
  take(): number {
    let action = 0;
    for (let choice = 0; choice < this.sizes.length; choice++) {
      action = action * this.sizes[choice]! + (this.latest(this.held, choice) || this.latest(this.tapped, choice) || this.chosen[choice]!);
    }
    this.tapped.length = 0;
    return action;
  }

  private latest(codes: readonly string[], choice: number): number {
    for (let k = codes.length - 1; k >= 0; k--) {
      const binding = this.bindings.get(codes[k]!)!;
      if (binding.choice === choice) return binding.option;
    }
    return 0;
  }
}
