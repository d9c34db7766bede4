/** Whom the policy or a person meets on side 1: the opponent that was asked for, or the one that takes its place. */
import type { Model, Traits } from "../contract/model";
import { ownOpponent, scriptsOf } from "../contract/opponents";
import type { ShowTrait } from "../contract/protocol";

interface Ends {
  readonly model: Pick<Model, "get" | "byItself">;
  readonly show: ShowTrait;
  readonly elsewhere: boolean;
  readonly kernel: { readonly connected: boolean };
}

export class Facing {
  constructor(private readonly ends: Ends) {}

  /** Who plays side 1 in the sandbox, and before any training: the drill's own where the one that was asked for cannot be had. */
  get opponent(): string {
    const [{ opponent }, drill] = [this.ends.show, this.ends.model.get("drill")?.spec];
    return opponent in this.rivals || scriptsOf(drill).includes(opponent) ? opponent : ownOpponent(drill);
  }

  /** Who plays side 1 however much the policy has learned; "": the policy does, and a person meets the newest version. */
  get met(): string {
    const { mode, opponent } = this.ends.show;
    if (mode === "sandbox" || this.ends.elsewhere) return this.opponent;
    const there = this.rivals[opponent] || scriptsOf(this.ends.model.get("drill")?.spec).includes(opponent);
    return mode === "human_vs_ai" && there ? opponent : "";
  }

  /** Policies that may be the opponent, by name; null: chosen once, its weights would come from the kernel, which is there. */
  get rivals(): Traits["rivals"] {
    const { model, kernel } = this.ends;
    const known = model.get("rivals") ?? {};
    if (kernel.connected && !model.byItself) return known;
    return Object.fromEntries(Object.entries(known).filter(([, policy]) => policy));
  }
}
