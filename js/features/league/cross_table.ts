/** The league's cross table: what each player won against each other one, of the matches that the league has played anyway. */
import type { LeagueRow } from "../../contract/protocol";
import { h } from "../../ui/dom";

const MOST = 7; // players
const ABOUT = "Points that the row's player won against the column's, in percent. A draw counts as half a point.";

export interface Cross {
  readonly element: HTMLElement;
  /** Draws the table of these players, the strongest first. */
  show(rows: readonly LeagueRow[]): void;
}

export function buildCrossTable(): Cross {
  const table = h("table", { class: "cross" });
  const show = (rows: readonly LeagueRow[]) => {
    const players = chosen(rows);
    const heads = players.map(({ name }) => h("th", { scope: "col" }, name));
    const body = players.map((row) => h("tr", {}, h("th", { scope: "row" }, row.name), ...players.map((other) => cell(row, other))));
    table.replaceChildren(h("caption", {}, ABOUT), h("thead", {}, h("tr", {}, h("td"), ...heads)), h("tbody", {}, ...body));
  };
  return { element: h("div", { class: "crossing" }, table), show };
}

/** The champion, the scripts and the newest versions, in the order given. */
function chosen(rows: readonly LeagueRow[]): LeagueRow[] {
  const weight = ({ champion, pinned, version }: LeagueRow) => (champion || pinned ? Infinity : version!);
  const kept = new Set([...rows].sort((a, b) => (weight(b) > weight(a) ? 1 : -1)).slice(0, MOST));
  return rows.filter((row) => kept.has(row));
}

function cell(row: LeagueRow, other: LeagueRow): HTMLElement {
  if (row === other) return h("td");
  const [points, matches] = row.against[other.name] ?? [0, 0];
  if (matches === 0) return h("td", { title: "They have not played each other" }, "–");
  const share = points / matches;
  const paint = `var(--${share > 0.5 ? "good" : "bad"}) ${Math.round(100 * Math.abs(share - 0.5))}%`;
  return h(
    "td",
    {
      title: `${row.name} against ${other.name}: ${points} points in ${matches} matches`,
      style: `background: color-mix(in srgb, ${paint}, transparent)`,
    },
    String(Math.round(100 * share)),
  );
}
