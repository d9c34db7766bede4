/** "Why that move?": what the move that is made and the likeliest others lead to after one second, tried on copies while the match is paused. */

import type { DrillSpec, Outcome } from "../../contract/protocol";
import { sideName } from "../../contract/sides";
import { personPlays } from "../../session/player_names";
import { field, h, select, setText } from "../../ui/dom";
import { percent, signed } from "../../ui/format";
import { nameOf } from "../move_name";
import type { PanelSession, PanelView } from "../panel";

const AFTERWARDS = [
  ["policy", "follow the policy"],
  ["repeat", "repeat the move"],
] as const;
const TOLD: Record<string, string> = {
  policy: "Each move is tried once, then everyone plays their likeliest moves for a second. The number is the change of the expected return.",
  repeat: "Each move is repeated for a second, while the others play their likeliest moves. The number is the change of the expected return.",
};
const ALIKE = 0.005; // reward: nearer changes read the same

export function buildOutcomes({ session, signal }: PanelView): HTMLElement {
  const afterwards = select({ title: "What the player does after the first decision" }, AFTERWARDS);
  const ask = () => session.post({ type: "IMAGINE", id: session.id, repeat: afterwards.value === "repeat" });
  const help = h("p", { class: "help" });
  const list = h("ol", { class: "outcomes", "aria-label": "Outcomes" });
  const point = (outcome: number) => session.post({ type: "GHOST", id: session.id, outcome });

  const lookAway = awayFromPerson(session, signal);
  let asked = false;
  const later = field("afterwards", afterwards);
  const follow = () => {
    const { playing } = session.state;
    const still = "Pause the match, then press Why that move? on the pitch to see where the likeliest moves lead.";
    setText(help, playing || !asked ? still : TOLD[afterwards.value]!);
    later.hidden = !asked;
  };
  const clear = () => {
    asked = false;
    list.replaceChildren();
    follow();
  };
  afterwards.addEventListener("change", () => {
    clear();
    if (!session.state.playing) ask();
  });
  session.events.on(
    "outcomes",
    ({ player, outcomes }) => {
      const spec = session.model.get("drill")?.spec;
      if (!spec) return;
      asked = outcomes.length > 0;
      follow();
      const best = bestOf(outcomes);
      list.replaceChildren(
        ...outcomes.map((outcome, index) => {
          const item = entry(
            spec,
            player,
            outcome,
            index + 1,
            () => point(index),
            () => point(0),
          );
          item.toggleAttribute("data-best", index === best);
          return item;
        }),
      );
      if (!asked) list.replaceChildren(h("li", { class: "help" }, "No decision here: the game has just ended, or no network is playing."));
    },
    signal,
  );
  session.events.on(
    "why",
    () => {
      lookAway();
      ask();
      element.closest(".part")?.scrollIntoView({ block: "nearest" });
    },
    signal,
  );
  session.events.on("state", follow, signal);
  session.events.on("mind", ({ standing }) => asked && !standing && clear(), signal);
  const element = h("div", { class: "why" }, later, help, list);
  follow();
  return element;
}

/** Looks at the other player in the place of a person's own, for whoever asks knows why they made their move; back once the person plays no more. */
function awayFromPerson(session: PanelSession, signal: AbortSignal): () => void {
  let lent = -1; // the player that is looked at instead
  const giveBack = () => {
    if (lent < 0 || personPlays(session, 1 - lent)) return;
    if (session.thoughts.now.player === lent) session.thoughts.choosePlayer(1 - lent);
    lent = -1;
  };
  for (const event of ["show", "replay"] as const) session.events.on(event, giveBack, signal);
  return () => {
    const { player } = session.thoughts.now;
    if (session.model.get("drill")?.spec.sides !== 2 || !personPlays(session, player)) return;
    lent = 1 - player;
    session.thoughts.choosePlayer(lent);
  };
}

/** The place of the best of them; -1 where they are alike. */
function bestOf(outcomes: readonly Outcome[]): number {
  const changes = outcomes.map(({ change }) => change);
  const most = Math.max(...changes);
  return most - Math.min(...changes) > ALIKE ? changes.indexOf(most) : -1;
}

/** One move: its name, how likely it is, and what came of it. Pointing at it shows the way on the pitch. */
function entry(spec: DrillSpec, player: number, outcome: Outcome, place: number, enter: () => void, leave: () => void): HTMLElement {
  const { probability, change, made } = outcome;
  const tone = Math.abs(change) < ALIKE ? "even" : change > 0 ? "good" : "bad";
  const item = h(
    "button",
    {
      type: "button",
      class: "outcome",
      "data-control": `outcome-${place}`,
      title: made ? "Its path is on the pitch" : "Point here or tap to see its path on the pitch",
    },
    h("span", { class: "label" }, nameOf(spec, outcome.action), made ? h("span", { class: "mark" }, "this move") : null),
    h("span", { class: "share" }, percent(probability)),
    h("span", { class: "change", "data-tone": tone }, signed(change)),
    h("span", { class: "end" }, ending(spec, player, outcome)),
  );
  for (const event of ["pointerenter", "focus", "click"]) item.addEventListener(event, enter);
  for (const event of ["pointerleave", "blur"]) item.addEventListener(event, leave);
  return h("li", { "data-made": made }, item);
}

function ending(spec: DrillSpec, player: number, { ended, winner }: Outcome): string {
  if (!ended) return "";
  if (winner === 0) return "the game ends";
  const side = winner > 0 ? 0 : 1;
  if (spec.sides === 1) return side === player ? "success" : "failure";
  return `goal for ${sideName(side)}`;
}
