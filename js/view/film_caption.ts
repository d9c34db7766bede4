/** What stands under a shared picture or film: the players, their score, the version and the first learning curve. */
import type { FilmCaption } from "../contract/protocol";
import { curvesOf } from "../panels/charts/curves";
import { columns, decimate } from "../session/history";
import { playerNames } from "../session/player_names";
import type { Session } from "../session/session";

const POINTS = 80; // of the curve

/** The caption of the match as it is now; `score` is what the scoreboard shows. */
export function captionOf(session: Session, score: [number, number]): FilmCaption {
  const spec = session.model.get("drill")?.spec;
  const leading = curvesOf(spec)[0]!;
  const data = decimate(columns(session.history.rows, "agent_steps", [leading.series[0]!.key]), POINTS);
  const values = data[1]!.filter((value) => value !== null);
  const [low, high] = Array.isArray(leading.range) ? [0, 1] : [Math.min(...values), Math.max(...values)];
  return {
    names: playerNames(session),
    score: spec?.sides === 1 ? null : score,
    version: session.state.version,
    curve: values.map((value) => (high > low ? (value - low) / (high - low) : 0.5)),
    newest: `${leading.title.toLowerCase()} ${leading.format(values.at(-1))}`,
  };
}
