/** What a person has to run again when the kernel is gone, by its name. */
import type { Model } from "../contract/model";

export function restartHint(model: Pick<Model, "get" | "restart">): string {
  const made = `DrillWidget(${model.get("drill")?.python ?? ""})`;
  return model.restart ?? `Run the cell that makes the widget again, the one with ${made}, to resume training.`;
}
