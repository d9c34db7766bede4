/** A reward of one's own: what the game can measure, and the cell that makes the same game with that reward. */
import type { DrillSpec, Handle } from "../../contract/protocol";
import { button, field, foldHandle, h, select, setOptions, setText } from "../../ui/dom";
import type { PanelView } from "../panel";

/** `lines` are of a rule of (s, i, side); the last one returns. */
export interface Measure {
  name: string;
  text: string;
  lines: string[];
}

const WEIGHT = 0.02; // a decision: in a match of ten seconds less than two goals

/** What can be measured of the things that the drill lets one drag: the players, and the ball if there is one. */
export function measuresOf(spec: DrillSpec): Measure[] {
  const [x0, , x1] = spec.world;
  const wide = Number((x1 - x0).toPrecision(4));
  const ball = spec.drag.find(({ kind }) => kind === "ball");
  const player = spec.drag.find(({ kind, index }) => kind === "player" && !index);
  const length = (name: string) => spec.fields.find(([known]) => known === name)?.[2] ?? 0;
  const of = (name: string, handle: Handle, mine: boolean) => `s.${name}[${length(name) ? `${mine && spec.sides > 1 ? "side" : (handle.index ?? 0)}, ` : ""}i]`;
  const found: Measure[] = [];
  if (player && spec.sides > 1) {
    const x = of(player.x, player, true);
    const lines = [`forward = ${x} if side == 0 else -${x}`, `return 0.5 - forward / ${wide}`];
    found.push({ name: "stay_back", text: "staying near its own end", lines });
  }
  if (player && ball) {
    const [dx, dy] = [player.x, player.y].map((name, k) => `${of(k ? ball.y : ball.x, ball, false)} - ${of(name, player, true)}`);
    found.push({ name: "near_ball", text: "being near the ball", lines: [`return 1.0 - length(${dx}, ${dy}) / ${wide}`] });
  }
  const speed = (handle: Handle, mine: boolean) => `return length(${of(handle.vx, handle, mine)}, ${of(handle.vy, handle, mine)})`;
  if (ball?.vx && ball.vy) found.push({ name: "ball_speed", text: "a fast ball", lines: [speed(ball, false)] });
  if (player?.vx && player.vy) found.push({ name: "running", text: "running fast", lines: [speed(player, true)] });
  return found;
}

/** The cell, in Python. `drill` is how Python names the game. */
export function cellOf(drill: string, { name, text, lines }: Measure): string {
  const built = drill.startsWith('"');
  const game = built ? "Game" : drill;
  const head = built
    ? ["from dshq_widget import DrillWidget, rule", "from dshq_widget.drills import get", "", `Game = get(${drill})`, "", ""]
    : ["from dshq_widget import DrillWidget, rule", "", ""];
  const body = [
    `class Mine(${game}):`,
    `    """The same game, which also pays for ${text}."""`,
    "",
    `    name = ${game}.name + "_${name}"`,
    `    rewards = {**${game}.rewards, "${name}": ${WEIGHT}}`,
    "",
    "    @rule",
    `    def ${name}(s, i, side):`,
    ...lines.map((line) => `        ${line}`),
    "",
    "",
    "w = DrillWidget(Mine)",
    "w",
  ];
  return `${[...head, ...body].join("\n")}\n`;
}

export function buildOwnReward({ session, signal }: PanelView): HTMLElement {
  const measure = select({}, []);
  const code = h("pre", { class: "code", tabindex: 0 });
  const said = h("span", { class: "help", role: "status" });
  const copy = button("copy-own-reward", { icon: "copy", title: "Copy: paste it into a cell and run it" }, () => {
    navigator.clipboard.writeText(code.textContent ?? "").then(
      () => setText(said, "Copied. Run it in a new cell."),
      () => setText(said, "The browser gives no access to the clipboard. Select the text and copy it."),
    );
  });
  const help = h(
    "p",
    { class: "help" },
    "Pick what the game can measure. The cell makes the same game with that reward; change the line that returns as you like.",
  );
  const fold = h(
    "details",
    { class: "fold own-reward" },
    foldHandle("own-reward"),
    help,
    h("div", { class: "cluster" }, field("own-measure", measure), copy, said),
    code,
  );
  let measures: Measure[] = [];
  const follow = () => {
    const chosen = measures.find(({ name }) => name === measure.value);
    setText(code, chosen ? cellOf(session.model.get("drill")?.python ?? '"ball"', chosen) : "");
    setText(said, "");
  };
  const rebuild = () => {
    const spec = session.model.get("drill")?.spec;
    measures = spec ? measuresOf(spec) : [];
    setOptions(
      measure,
      measures.map(({ name, text }) => [name, text]),
    );
    fold.hidden = measures.length === 0;
    follow();
  };
  measure.addEventListener("change", follow);
  session.events.on("drill", rebuild, signal);
  rebuild();
  return fold;
}
