/** What a lost kernel means: what becomes of the match, and what a person has to run again, by its name. */
import type { Model } from "../../contract/model";

export function restartHint(model: Pick<Model, "get" | "restart">): string {
  const made = `DrillWidget(${model.get("drill")?.python ?? ""})`;
  return model.restart ?? `Run the cell that makes the widget again, the one with ${made}, to resume training.`;
}

/** Why what needs a kernel is not offered without one. */
export function needsKernel(model: Pick<Model, "get" | "restart">): string {
  return `Needs a kernel. ${restartHint(model)}`;
}

/** `pictures`: the kernel plays it and the page draws what it sends; `elsewhere`: the policy plays in the kernel. */
export function kernelLost({ pictures, elsewhere }: { readonly pictures: boolean; readonly elsewhere: boolean }): string {
  const played = pictures ? "it is played" : "the policy plays";
  return `Kernel disconnected. ${pictures || elsewhere ? `The match stands still, because ${played} there.` : "The match continues with the last policy."}`;
}
