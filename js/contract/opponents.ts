/** The opponents that a drill has by itself. */
import type { DrillSpec } from "./protocol";

type Drill = Pick<DrillSpec, "baselines"> | undefined;

/** The scripts that can play a side of it. */
export function scriptsOf(drill: Drill): string[] {
  return ["idle", "random", ...(drill?.baselines ?? [])];
}

/** Who plays where no other opponent was asked for. */
export function ownOpponent(drill: Drill): string {
  return drill?.baselines[0] ?? "random";
}
