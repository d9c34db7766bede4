/** Names of opponents as the codes of players. */
import type { DrillSpec } from "../contract/protocol";
import { IDLE, RANDOM, SELF } from "./players";

/** The code of "self", "random", "idle" or one of the drill's baselines; throws an Error of one sentence. */
export function kindOf(name: string, { baselines, name: drill }: DrillSpec): number {
  const fixed: Record<string, number> = { self: SELF, random: RANDOM, idle: IDLE };
  const kind = fixed[name] ?? baselines.indexOf(name);
  if (kind === -1 && name !== "self") throw new Error(`unknown opponent '${name}' for ${drill}: choose from ${[...Object.keys(fixed), ...baselines].join(", ")}`);
  return kind;
}
