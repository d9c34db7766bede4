/** What the training does, in one sentence that a student understands. */
import type { ConfigTrait, ConfigValue, MetricsRow, Status } from "../../contract/protocol";
import { asSentence } from "../../contract/sentences";

/** Said where the kernel says nothing more exact. */
export const SENTENCES: Record<Status, string> = {
  idle: "Press Train. Learning continues in the background. Each new policy joins the match you are watching.",
  starting: "Starting processes and compiling the rules.",
  training: "Each new policy joins the match as soon as it is published.",
  stopping: "Finishing the last update.",
  stopped: "Training is stopped. Press Train to continue.",
  error: "Training stopped because of an error.",
  disconnected: "Training needs its kernel.",
};

const FROM_KERNEL: readonly Status[] = ["starting", "training", "stopping", "stopped", "error"]; // where it knows more

const USUAL = /^training\b/i; // what the kernel says while there is nothing to warn of

/** `text` is the kernel's own sentence, `games` the number of practice games at once. */
export function sentenceOf(status: Status, text: string, games: number, row: MetricsRow | undefined): string {
  if (status === "training" && games > 1 && (!text || USUAL.test(text))) {
    const practice = `Playing ${whole(games)} practice games at once`;
    const rate = row?.agent_steps_per_second;
    return typeof rate === "number" && rate > 0 ? `${practice}: ${whole(Number(rate.toPrecision(3)))} agent steps a second.` : `${practice}.`;
  }
  return (FROM_KERNEL.includes(status) && asSentence(text)) || (SENTENCES[status] ?? "");
}

/** Before Train: what a setting that needs a new network would cost; "" where nothing would be lost. */
export function forgets(
  status: Status,
  { schema }: Pick<ConfigTrait, "schema">,
  drafts: Readonly<Record<string, ConfigValue>>,
  updates = 0,
  stays = "as a file",
): string {
  if (!["idle", "stopped"].includes(status) || updates === 0) return "";
  const keys = Object.keys(drafts).filter((key) => schema[key]?.network);
  if (keys.length === 0) return "";
  const need = keys.length === 1 ? "needs" : "need";
  return `Train forgets ${whole(updates)} updates: ${keys.join(" and ")} ${need} a new network. The old run stays ${stays}.`;
}

/** With commas between thousands, in every browser's language. */
function whole(value: number): string {
  return Math.round(value).toLocaleString("en-US");
}
