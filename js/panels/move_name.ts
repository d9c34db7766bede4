/** Names of moves. */
import type { DrillSpec } from "../contract/protocol";

const SILENT = ["no", "none", "stop"]; // options to do nothing of the kind

/** An action in words, without those of its options that say nothing. */
export function nameOf(spec: DrillSpec, action: readonly number[]): string {
  const words = spec.actions.flatMap(({ name, options }, choice) => {
    const text = options[action[choice]!] ?? "";
    if (SILENT.includes(text)) return [];
    if (text === "yes") return [name];
    return [choice === 0 ? text : `${name} ${text}`];
  });
  return words.join(" · ") || (spec.actions[0]?.options[action[0]!] ?? "nothing");
}
