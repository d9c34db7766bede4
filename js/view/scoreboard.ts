/** The scoreboard: names, score, clock and policy version. */
import { listen } from "../contract/model";
import { personPlays, playerNames } from "../session/player_names";
import { button, h, setAttribute, setText } from "../ui/dom";
import { clock } from "../ui/format";
import type { View } from "./view";

const COUNT_MS = 1000; // between two looks at frames/s
const REST_MS = 1500; // a version that comes sooner after another one does not leap: what never rests tells nothing

/** The score of those who play now: whoever comes begins at 0. What was counted of the live match waits while a replay or a duel is shown. */
class Count {
  private players = ""; // who plays, whatever their version
  private playing = 0; // the version that played last
  private before: readonly [number, number] = [0, 0]; // the score when they began
  private match = "live"; // or a replay, or a duel: this page's alone
  private live = { players: this.players, before: this.before }; // how the live match stood when another one took its place

  constructor(private readonly session: View["session"]) {}

  /** Of both sides, at the state that the session has. */
  take(): [number, number] {
    const { score, version, events } = this.session.state;
    this.turnTo(!this.session.live ? "replay" : this.session.alone ? "duel" : "live", score);
    const { mode } = this.session.show;
    const { met } = this.session.facing;
    const lineup = met ? `${mode} ${met}` : mode;
    const others = this.players !== "" && (lineup !== this.players || (this.playing > 0 && version === 0)); // another mode, or a fresh start
    if (events.some(({ kind }) => kind === "reset")) this.before = [0, 0];
    else if (others) this.before = score;
    [this.players, this.playing] = [lineup, version];
    return [0, 1].map((side) => Math.max(0, score[side]! - this.before[side]!)) as [number, number]; // a report of the match before may still come
  }

  private turnTo(shown: string, score: readonly [number, number]): void {
    if (shown === this.match) return;
    if (this.match === "live") this.live = { players: this.players, before: this.before };
    this.match = shown;
    this.players = shown === "live" ? this.live.players : "";
    this.before = shown === "live" ? this.live.before : shown === "replay" ? [0, 0] : score; // a duel begins with a reset
  }
}

/** What the board is made of. */
type Parts = ReturnType<typeof newParts>;

function newParts() {
  return {
    names: [h("span", { class: "name" }), h("span", { class: "name" })] as const,
    goals: [h("span", { class: "goals" }, "0"), h("span", { class: "goals" }, "0")] as const,
    time: h("span", { class: "time", title: "Match time since the widget started" }, "0:00"),
    version: h("span", { class: "version" }, "v0"),
    waiting: h("span", { class: "waiting" }), // a newer version, while the match is paused
    fps: h("span", { class: "fps" }),
  };
}

/** The board, and `score()` as it shows it. `share` stands at its end. A drill of one side has one name, its return and its decisions. */
export function buildScoreboard({ session, signal }: View, share: HTMLElement): { element: HTMLElement; score(): [number, number] } {
  const parts = newParts();
  const { names, goals, time, version, waiting, fps } = parts;
  const side = (index: 0 | 1) => h("span", { class: "side", "data-side": index }, names[index], goals[index]);
  const board = h("span", { class: "board" }, side(0), time, side(1));
  let [counted, swapped] = [-Infinity, -Infinity]; // ms: when frames/s were last written, when the policy last changed
  const count = new Count(session);

  const follow = () => {
    const alone = session.model.get("drill")?.spec.sides === 1;
    board.toggleAttribute("data-alone", alone);
    nameSides(session, parts, alone);
    nameVersion(session, parts, alone);
  };
  const state = () => {
    const { tick, score, fps: rate, playing: runs } = session.state;
    const alone = session.model.get("drill")?.spec.sides === 1;
    const now = performance.now();
    const fresh = count.take();
    (alone ? score : fresh).forEach((own, side) => {
      const was = Number(goals[side]!.textContent);
      setText(goals[side]!, String(Math.round(100 * own) / 100));
      if (own === was + 1 && !alone) bump(goals[side]!);
    });
    setText(time, clock(tick / (session.model.get("drill")?.spec.tick_rate ?? 120)));
    if (!runs || now - counted >= COUNT_MS) {
      counted = now;
      setText(fps, runs && rate > 0 ? `${Math.round(rate)} fps` : ""); // a paused match is drawn when it changes
    }
    const was = version.textContent;
    follow();
    if (version.textContent === was) return;
    if (was !== "v0" && now - swapped >= REST_MS) bump(version);
    swapped = now;
  };
  for (const name of ["show", "lineup", "replay", "drill"] as const) session.events.on(name, follow, signal);
  session.events.on("state", state, signal);
  listen(session.model, "change:policy", follow, signal);
  state();

  const element = h(
    "div",
    { class: "scoreboard", role: "group", "aria-label": "Scoreboard" },
    h("span", { class: "corner" }, version, waiting),
    board,
    h("span", { class: "corner end" }, ...buildSay(session, goals), fps, share),
  );
  return { element, score: () => [Number(goals[0].textContent), Number(goals[1].textContent)] };
}

function nameSides(session: View["session"], { names, goals }: Parts, alone: boolean): void {
  const [blue, orange] = playerNames(session);
  setText(names[0], blue);
  setText(names[1], alone ? "steps" : orange);
  setAttribute(names[0], "title", blue); // a long name is cut
  setAttribute(names[1], "title", session.standIn?.title ?? names[1].textContent);
  setAttribute(goals[0], "title", alone ? "Return of this episode" : "Goals");
  setAttribute(goals[1], "title", alone ? "Steps of this episode: one for each decision" : "Goals");
}

/** The version that plays, and the one that waits. */
function nameVersion(session: View["session"], { version, waiting }: Parts, alone: boolean): void {
  const { version: playing } = session.state;
  setText(version, `v${playing}`);
  const rests = personPlays(session, 0) && (alone || session.facing.met !== "");
  const newest = session.model.get("policy")?.version ?? 0;
  const rest = newest === playing ? "is the newest; it does not play now" : "does not play now";
  const doing = rests ? rest : "is playing";
  const none = newest > 0 || !session.live ? "No trained policy is playing now" : "No policy has been trained yet";
  setAttribute(version, "title", playing > 0 ? `Policy version ${playing} ${doing}` : none);
  waiting.hidden = session.show.playing || !session.live || newest === 0 || newest === playing;
  setText(waiting, `v${newest} next`);
  const begins = session.show.swap === "at_reset" ? "when the next game starts" : "from the next decision on";
  setAttribute(waiting, "title", `The match is paused: version ${newest} plays ${begins}`);
}

/** A button for those who hear the page, and what it says. */
function buildSay(session: View["session"], goals: Parts["goals"]): [say: HTMLElement, said: HTMLElement] {
  const said = h("span", { class: "unseen", role: "status" });
  const say = button("say-match", { class: "unseen button on-board", title: "Say the score: score, time and who is nearest to the ball" }, () => {
    const { tick, holder } = session.state;
    const spec = session.model.get("drill")?.spec;
    const [blue, orange] = playerNames(session);
    const at = clock(tick / (spec?.tick_rate ?? 120));
    const score =
      spec?.sides === 1
        ? `${blue}: return ${goals[0].textContent} after ${goals[1].textContent} steps`
        : `Blue, ${blue}, ${goals[0].textContent}; orange, ${orange}, ${goals[1].textContent}`;
    const near = holder === undefined || holder < 0 ? "" : ` ${holder === 0 ? "Blue" : "Orange"} is nearest to the ball.`;
    said.textContent = `${score}. Match time ${at}.${near}`;
  });
  return [say, said];
}

/** A small leap, for those who like motion (style.css leaves it out for the others). */
function bump(element: HTMLElement): void {
  element.classList.remove("bump");
  void element.offsetWidth; // restarts the animation
  element.classList.add("bump");
}
