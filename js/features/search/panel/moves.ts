/** The likeliest moves: what the policy gives each of them, and what search does. */

import { nameOf } from "../../../panels/move_name";
import type { PanelView } from "../../../panels/panel";
import { h, setAttribute, setSpan, setText } from "../../../ui/dom";
import { percent } from "../../../ui/format";
import { SearchLink } from "../link";

const ROWS = 6;

export function buildMoves({ session, signal }: PanelView): HTMLElement {
  const rows = Array.from({ length: ROWS }, () => {
    const [label, prior, target] = [h("span", { class: "label" }), h("span", { class: "fill" }), h("span", { class: "fill" })];
    const [before, after] = [h("span", { class: "before" }), h("span", { class: "after" })];
    const bars = h("span", { class: "pair" }, h("span", { class: "track prior" }, prior), h("span", { class: "track" }, target));
    return { row: h("li", { class: "move" }, label, bars, before, after), label, prior, target, before, after };
  });
  const head = h("div", { class: "move head", "aria-hidden": "true" }, h("span", {}, "move"), h("span", {}), h("span", {}, "policy"), h("span", {}, "search"));
  const list = h("ol", { "aria-label": "Moves before and after search" }, ...rows.map(({ row }) => row));

  const follow = () => {
    const [spec, now] = [session.model.get("drill")?.spec, session.link(SearchLink).futures];
    if (!spec || !now) return;
    const best = now.moves.reduce((top, { target }, k) => (target > now.moves[top]!.target ? k : top), 0);
    rows.forEach(({ row, label, prior, target, before, after }, k) => {
      const move = now.moves[k];
      row.hidden = !move;
      if (!move) return;
      const name = nameOf(spec, move.action);
      setText(label, name);
      setAttribute(label, "title", name);
      setSpan(prior, 0, move.prior);
      setSpan(target, 0, move.target);
      setText(before, percent(move.prior));
      setText(after, percent(move.target));
      row.toggleAttribute("data-chosen", k === best);
    });
  };
  session.events.on("futures", follow, signal);
  follow();
  return h("div", { class: "chances" }, head, list);
}
