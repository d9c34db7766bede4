/** Controls of the match: a match against the network, in the first line (Train itself: ../training.ts); play, pause, step, speed and players in the line below the pitch; the others in the Lab. */
import { button } from "../../ui/dom";
import type { Panel, PanelView } from "../panel";
import { buildBench } from "./bench";
import { buildLine } from "./line";

export const transport: Panel = { parts: { hero: buildChallenge, line: buildLine, lab: buildBench } };

/** Where there is somebody to play against: of two sides, and one that the page itself plays. */
function buildChallenge({ session, duel, signal }: PanelView): HTMLElement {
  const title = "Play against it: you play blue, from 0 : 0, for a minute or five goals";
  const challenge = button("challenge", { class: "button challenge", title }, () => duel.start());
  const follow = () => {
    challenge.hidden = session.pictures || session.elsewhere || session.model.get("drill")?.spec.sides === 1;
  };
  session.events.on("drill", follow, signal);
  follow();
  return challenge;
}
