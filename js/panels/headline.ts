/** The headline panel: four key numbers of the training, and what comes of it on the pitch. */

import type { Liveliness, MetricsRow } from "../contract/protocol";
import { h, setText } from "../ui/dom";
import { clock, compact, percent } from "../ui/format";
import type { Panel, PanelView } from "./panel";

export const headline: Panel = { parts: { tab: build } };

const LOOK_MS = 2000; // between two looks: a text that changes is painted again

function build({ session, shown, signal }: PanelView): HTMLElement {
  const spec = session.model.get("drill")?.spec;
  const [script] = spec?.baselines ?? [];
  const tiles = [spec?.sides === 1 ? RETURN : winsAgainst(script), ...OTHERS].map(({ caption, title, read, needs }) => {
    const value = h("span", { class: "value" }, "–");
    const tile = h("div", { class: "tile", title }, value, h("span", { class: "caption" }, caption));
    const show = (row: MetricsRow) => {
      setText(value, read(row));
      tile.hidden = Boolean(needs && row.updates && !row[needs]); // it learns, and this means nothing there
    };
    return { tile, show };
  });
  const follow = () => {
    const row = session.history.rows.at(-1) ?? {};
    for (const { show } of tiles) show(row);
  };
  session.events.on("history", follow, signal);
  follow();

  const pitch = h("p", { class: "help lively" });
  let said = -Infinity;
  const look = () => {
    if (!shown.now || performance.now() - said < LOOK_MS) return;
    said = performance.now();
    setText(pitch, onThePitch(session.state.lively));
  };
  session.events.on("state", look, signal);
  shown.follow(look);
  look();
  return h("div", {}, h("div", { class: "tiles", role: "group", "aria-label": "Key numbers" }, ...tiles.map(({ tile }) => tile)), pitch);
}

interface Headline {
  caption: string;
  title: string;
  read: (row: MetricsRow) => string;
  needs?: string; // a metric without which it is not shown
}

/** What happens in the match, in one sentence; "" where there is nothing to say. */
function onThePitch(lively?: Liveliness | null): string {
  if (!lively) return "";
  const { now, untrained } = lively;
  const before = untrained ? ` Untrained: ${untrained.touches}, ${untrained.shots}, ${untrained.goals}.` : "";
  return `On the pitch, per minute: ${now.touches} touches, ${now.shots} shots, ${now.goals} goals.${before}`;
}

/** Against the drill's script, by its name; against random play in a drill without one. */
const winsAgainst = (script?: string): Headline => ({
  caption: `wins vs ${script ?? "random"}`,
  title: `Share of all matches won against ${script ? "this script" : "random play"}, draws included`,
  read: (row) => percent(row[script ? "win_share" : "win_share_random"]),
});
const RETURN: Headline = {
  caption: "evaluated return",
  title: "Mean return per episode in the last evaluation",
  read: (row) => compact(row.evaluated_return),
};
const OTHERS: Headline[] = [
  {
    caption: "steps / s",
    title: "Agent steps per second. An agent step is one decision of one learning side.",
    read: (row) => compact(row.agent_steps_per_second),
    needs: "agent_steps_per_second",
  },
  { caption: "updates", title: "Updates since the start. Each update learns from one rollout.", read: (row) => compact(row.updates) },
  {
    caption: "trained",
    title: "Time spent training since the start",
    read: (row) => (row.seconds === undefined ? "–" : clock(row.seconds)),
  },
];
