/** Undo of *Forget everything*: stands where the milestones stood, until something is learned anew. */
import { button, h, setText } from "../../ui/dom";
import type { PanelView } from "../panel";

export function buildUndo({ session, forgetting, signal }: PanelView): HTMLElement {
  const said = h("span", { role: "status" });
  const undo = button("undo", { title: "Undo: bring back what was learned" }, () => forgetting.undo());
  const element = h("div", { class: "undo" }, said, undo);
  const follow = () => {
    const { kept } = forgetting;
    element.hidden = !kept;
    if (!kept) return;
    setText(said, `Forgot ${kept.updates.toLocaleString("en-US")} updates.`);
  };
  session.events.on("forgotten", follow, signal);
  follow();
  return element;
}
