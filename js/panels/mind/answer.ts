/** The answer to "Why that move?" beside the pitch: which move's way is drawn there, what comes of it, and the next one. */
import type { Outcome } from "../../contract/protocol";
import { personPlays } from "../../session/player_names";
import { button, h, setText } from "../../ui/dom";
import { percent, signed } from "../../ui/format";
import { nameOf } from "../move_name";
import type { PanelView } from "../panel";

export function buildAnswer({ session, signal }: PanelView): HTMLElement {
  const text = h("span", { role: "status" });
  let outcomes: readonly Outcome[] = [];
  let player = 0;
  let at = 0;
  const next = button("next-move", { class: "chip", title: "Next move: its path on the pitch" }, () => {
    at = (at + 1) % outcomes.length;
    session.post({ type: "GHOST", id: session.id, outcome: at });
    follow();
  });
  const answer = h("p", { class: "why-answer" }, text, next);
  const follow = () => {
    const spec = session.model.get("drill")?.spec;
    const shown = outcomes[at];
    answer.hidden = !spec || !shown;
    next.hidden = outcomes.length < 2;
    if (!spec || !shown) return;
    const [who, doing] = personPlays(session, player) ? ["You", "do"] : ["It", "does"];
    const { action, made, probability, change } = shown;
    setText(
      text,
      `${who} ${made ? doing : "could do"} ${nameOf(spec, action)} (${percent(probability)}): ${signed(change)} of expected return within a second.`,
    );
  };
  session.events.on(
    "outcomes",
    (asked) => {
      ({ player, outcomes } = asked);
      at = 0;
      follow();
    },
    signal,
  );
  session.events.on(
    "mind",
    ({ standing }) => {
      if (standing || outcomes.length === 0) return;
      outcomes = [];
      follow();
    },
    signal,
  );
  follow();
  return answer;
}
