/**
 * The league panel: Elo ratings of the champion, the newest versions and the best earlier ones, each with its confidence interval
 * on one scale, and the cross table. Drawn only while it is seen.
 */

import { ownOpponent, scriptsOf } from "../../contract/opponents";
import type { LeagueRow } from "../../contract/protocol";
import { rated } from "../../contract/rating";
import type { Panel, PanelView } from "../../panels/panel";
import { button, h, setText } from "../../ui/dom";
import { compact, percent } from "../../ui/format";
import { fillRows } from "../../ui/rows";
import { buildCrossTable } from "./cross_table";

const ELO = "A player rated 200 Elo points higher wins about 3 of 4 matches; 400 points higher, about 10 of 11. ± is the 95 % confidence interval.";
const BAR = " The bar shows it on one scale.";
const EMPTY = "No league yet. During training, versions play each other and the scripts every few seconds. The table appears after the first round.";
const AIR = 0.04; // of the scale, left and right of the bars

export const panel: Panel = { applies: ({ model }) => model.get("drill")?.spec.sides !== 1, parts: { tab: build } };

function build({ session, shown, signal }: PanelView): HTMLElement {
  const about = h("p", { class: "caption" });
  const body = h("tbody");
  const empty = h("p", { class: "sentence" }, EMPTY);
  const script = () => ownOpponent(session.model.get("drill")?.spec);
  const against = h("th", { scope: "col", class: "number" });
  const table = h(
    "table",
    {},
    h("caption", {}, ELO, h("span", { class: "of-bands" }, BAR)),
    h(
      "thead",
      {},
      h(
        "tr",
        {},
        h("th", { scope: "col", class: "number", title: "Rank among all players" }, "#"),
        h("th", { scope: "col" }, "player"),
        h("th", { scope: "col", class: "number" }, "Elo"),
        h("th", { scope: "col", class: "band" }, "95 % interval"),
        against,
        h("th", { scope: "col", class: "number steps", title: "Agent steps of training" }, "trained"),
      ),
    ),
    body,
  );
  const cross = buildCrossTable();
  const element = h("section", { class: "league body", "aria-label": "League" }, about, empty, table, cross.element);

  const follow = () => {
    if (!shown.now) return;
    const rows = session.model.get("league") ?? [];
    const best = rows.find((row) => row.champion);
    setText(about, best ? championLine(best, rows) : "");
    about.hidden = !best;
    empty.hidden = rows.length > 0;
    table.hidden = cross.element.hidden = rows.length === 0;
    cross.show(rows);
    setText(against, `points vs\u00a0${script()}`);
    against.title = `Points per match against ${script()}. A draw counts as half a point.`;
    const newest = Math.max(...rows.map((row) => row.version ?? -1));
    const scale = scaleOf(rows);
    const there = new Set([...scriptsOf(session.model.get("drill")?.spec), ...Object.keys(session.facing.rivals)]);
    const meet = session.elsewhere ? () => false : (row: LeagueRow) => there.has(idOf(row));
    const bring = (row: LeagueRow) => session.setShow({ mode: "sandbox", opponent: idOf(row) });
    fillRows(
      body,
      rows.map((row) => ({ key: idOf(row), element: drawn(row, scale, script(), row.version === newest, meet(row) ? bring : null) })),
    );
  };
  shown.follow(follow);
  let connected = session.kernel.connected;
  const look = () => {
    if (connected === session.kernel.connected) return;
    connected = !connected;
    follow();
  };
  for (const event of ["league", "drill", "rivals"] as const) session.events.on(event, follow, signal);
  session.events.on("status", look, signal);
  follow();
  return element;
}

/** The champion, with the rank and the Elo that its row has. One that never learned is no champion yet. */
function championLine(best: LeagueRow, rows: readonly LeagueRow[]): string {
  if (!best.version) return "No champion yet: no version has been better than the untrained one.";
  const ahead = rows.filter(({ rank }) => rank < best.rank).map(({ name }) => name);
  const behind = ahead.length === 0 ? "" : ahead.length <= 2 ? `, behind ${ahead.join(" and ")}` : `, behind ${ahead.length} others`;
  return `Champion ${best.name} · rank ${best.rank}${behind} · Elo ${rated(best)}`;
}

type Scale = (elo: number) => number;

/** From Elo to percent of the bar's width. */
function scaleOf(rows: readonly LeagueRow[]): Scale {
  const low = Math.min(...rows.map((row) => row.elo_low));
  const high = Math.max(...rows.map((row) => row.elo_high));
  const span = Math.max(high - low, 1);
  return (elo) => 100 * (AIR + (1 - 2 * AIR) * ((elo - low) / span));
}

/** A row; `meet` puts its player on the pitch, against the newest policy; null where that cannot be had. */
function drawn(row: LeagueRow, scale: Scale, script: string, newest: boolean, meet: ((row: LeagueRow) => void) | null): HTMLElement {
  const [low, middle, high] = [row.elo_low, row.elo, row.elo_high].map(scale) as [number, number, number];
  const range = `${Math.round(row.elo_low)} to ${Math.round(row.elo_high)}`;
  const [points, matches] = row.against[script] ?? [0, 0];
  const mark = row.champion && row.version ? "champion" : row.pinned ? "script" : newest ? "newest" : "";
  return h(
    "tr",
    { "data-mark": mark || null },
    h("td", { class: "number" }, String(row.rank)),
    h("th", { scope: "row" }, meet ? meeting(row, meet) : row.name, mark ? h("span", { class: "mark", title: MARKS[mark] }, mark) : null),
    h(
      "td",
      { class: "number elo", title: row.pinned ? "Fixed rating: the others are rated against it" : `95 % confidence interval: ${range}` },
      String(Math.round(row.elo)),
      row.pinned ? null : h("span", { class: "half" }, ` ±${Math.round((row.elo_high - row.elo_low) / 2)}`),
    ),
    h(
      "td",
      { class: "band", title: range },
      h(
        "div",
        { class: "lane", role: "img", "aria-label": row.pinned ? "fixed" : range },
        row.pinned ? null : h("span", { class: "range", style: `left: ${low}%; width: ${high - low}%` }),
        h("span", { class: "middle", style: `left: ${middle}%` }),
      ),
    ),
    h("td", { class: "number", title: matches ? `${matches} matches` : "They have not played each other" }, matches ? percent(points / matches) : "–"),
    h("td", { class: "number steps" }, row.step === undefined ? "–" : compact(row.step)),
  );
}

/** The player's name as a button that brings it onto the pitch. */
function meeting(row: LeagueRow, meet: (row: LeagueRow) => void): HTMLElement {
  const title = `Let the newest policy play against ${row.name}`;
  return button([`meet-${row.name}`, title], { text: row.name, class: "meet" }, () => meet(row));
}

/** Its name as an opponent. */
function idOf({ name, pinned }: LeagueRow): string {
  return pinned ? name : `league:${name}`;
}

const MARKS = {
  champion: "The newest version that was not worse than the champion before it, head to head. If training collapses, it reverts to this version.",
  script: "A script. Its rating is fixed, and the others are rated against it.",
  newest: "The newest version in the league. It has played few matches so far, so its rating is the least certain.",
} as const;
