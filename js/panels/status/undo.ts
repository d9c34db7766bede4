/** Undo of *Forget everything* and of the last training: stands where the targets stood. */
import { button, h, setText } from "../../ui/dom";
import type { PanelView } from "../panel";

export function buildUndo({ session, undoing, signal }: PanelView): HTMLElement {
  const said = h("span", { role: "status" });
  const undo = button("undo", { title: "Undo: bring back what was learned before" }, () => undoing.undo());
  const element = h("div", { class: "undo" }, said, undo);
  const follow = () => {
    const { offered } = undoing;
    element.hidden = !offered;
    if (!offered) return;
    const updates = `${offered.updates.toLocaleString("en-US")} update${offered.updates === 1 ? "" : "s"}`;
    setText(said, offered.of === "forgetting" ? `Forgot ${updates}.` : `Learned ${updates} since Train.`);
  };
  session.events.on("undoable", follow, signal);
  follow();
  return element;
}
