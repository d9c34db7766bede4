/** A reward of one's own: one line of the rules language, from what the game can measure or typed; the kernel checks it, and training begins with it. */
import type { DrillSpec, Handle } from "../../contract/protocol";
import { button, field, foldHandle, h, select, setAttribute, setOptions, setText } from "../../ui/dom";
import type { PanelView } from "../panel";

export interface Measure {
  name: string;
  text: string;
  line: string; // an expression of (s, i, side)
}

const TERM = "own_reward"; // dshq_widget/drill/own_reward.py
const WEIGHT = "0.02"; // a decision: in a match of ten seconds less than two goals
const CHECK_MS = 250; // after the last letter

/** What can be measured of the things that the drill lets one drag: the players, and the ball if there is one. */
export function measuresOf(spec: DrillSpec): Measure[] {
  const [x0, , x1] = spec.world;
  const wide = (x1 - x0).toFixed(1);
  const ball = spec.drag.find(({ kind }) => kind === "ball");
  const player = spec.drag.find(({ kind, index }) => kind === "player" && !index);
  const length = (name: string) => spec.fields.find(([known]) => known === name)?.[2] ?? 0;
  const of = (name: string, handle: Handle, mine: boolean) => `s.${name}[${length(name) ? `${mine && spec.sides > 1 ? "side" : (handle.index ?? 0)}, ` : ""}i]`;
  const found: Measure[] = [];
  const add = (name: string, text: string, line: string) => found.push({ name, text, line: `${WEIGHT} * ${line}` });
  if (player && spec.sides > 1) {
    const x = of(player.x, player, true);
    add("stay_back", "staying near its own end", `(0.5 - (${x} if side == 0 else -${x}) / ${wide})`);
  }
  if (player && ball) {
    const [dx, dy] = [player.x, player.y].map((name, k) => `${of(k ? ball.y : ball.x, ball, false)} - ${of(name, player, true)}`);
    add("near_ball", "being near the ball", `(1.0 - length(${dx}, ${dy}) / ${wide})`);
  }
  const speed = (handle: Handle, mine: boolean) => `length(${of(handle.vx, handle, mine)}, ${of(handle.vy, handle, mine)})`;
  if (ball?.vx && ball.vy) add("ball_speed", "a fast ball", speed(ball, false));
  if (player?.vx && player.vy) add("running", "running fast", speed(player, true));
  return found;
}

/** The cell, in Python, after the one that made the widget `w`. */
export function cellOf(line: string): string {
  return `w.pay_for(${JSON.stringify(line)})\nw.train()\n`;
}

/** The fold and what is in it; `pay` is called with the line, or with "" to remove it. */
function buildForm(pay: (line: string) => void) {
  const measure = select({}, []);
  const line = h("input", { type: "text", spellcheck: "false", autocomplete: "off", autocapitalize: "off", maxlength: 300 });
  const code = h("pre", { class: "code", tabindex: 0 });
  const said = h("p", { class: "help", role: "status" });
  const train = button("own-train", { title: "Train with it: start training, or restart it, with this line as an additional reward" }, () =>
    pay(line.value.trim()),
  );
  const remove = button("own-remove", { title: "Remove it: train with the other rewards only" }, () => pay(""));
  const copy = button("copy-own-reward", { icon: "copy", title: "Copy: paste it into a cell and run it" }, () => {
    navigator.clipboard.writeText(code.textContent ?? "").then(
      () => setText(said, "Copied. Run it in a new cell."),
      () => setText(said, "The browser gives no access to the clipboard. Select the text and copy it."),
    );
  });
  const help = h(
    "p",
    { class: "help" },
    "Paid once per decision, beside the rewards below. Pick what the game can measure, and change the line as you like: s is the game, side the player.",
  );
  const example = h("span", { class: "caption" });
  const fold = h(
    "details",
    { class: "fold own-reward" },
    foldHandle("own-reward", example),
    help,
    field("own-measure", measure),
    field("own-line", line),
    said,
    h("div", { class: "cluster" }, train, remove),
    h("p", { class: "help" }, "The same in Python:"),
    code,
    h("div", { class: "cluster" }, copy),
  );
  return { fold, measure, line, code, said, train, remove, example };
}

export function buildOwnReward({ session, undoing, signal }: PanelView): HTMLElement {
  const { fold, measure, line, code, said, train, remove, example } = buildForm((text) => pay(text));
  let measures: Measure[] = [];
  let timer: ReturnType<typeof setTimeout> | undefined;
  const paid = () => session.model.get("drill")?.spec.terms.find(({ name }) => name === TERM)?.help ?? "";
  const pay = (text: string) => {
    session.kernel.send({ type: "PAY_FOR", line: text });
    if (text && !["starting", "training"].includes(session.status)) void undoing.train();
  };
  const tell = (problem: string) => {
    const text = line.value.trim();
    said.className = problem ? "problem" : "help";
    setText(said, problem || (text === paid() ? `This line is part of the reward. Its weight is with the others.` : "This line is valid."));
    setAttribute(line, "aria-invalid", problem ? "true" : null);
    train.disabled = Boolean(problem) || text === paid();
  };
  const check = () => session.kernel.send({ type: "CHECK_REWARD", line: line.value.trim() });
  const edited = () => {
    const text = line.value.trim();
    setText(code, cellOf(text));
    train.disabled = true;
    clearTimeout(timer);
    setText(said, text ? "Checking …" : "Pick something, or write a line.");
    if (text) timer = setTimeout(check, CHECK_MS);
  };
  const follow = () => {
    fold.hidden = !session.model.get("drill") || !session.kernel.connected || session.model.trainedBy === "page";
  };
  const rebuild = () => {
    const spec = session.model.get("drill")?.spec;
    measures = spec ? measuresOf(spec) : [];
    setText(example, measures[0] ? `such as ${measures[0].text}` : "");
    setOptions(measure, [...measures.map(({ name, text }) => [name, text] as const), ["", "something of your own"] as const]);
    follow();
    remove.hidden = !paid();
    if (paid() || !line.value) line.value = paid() || (measures[0]?.line ?? "");
    edited();
    choose();
  };
  const choose = () => {
    measure.value = measures.find((one) => one.line === line.value.trim())?.name ?? "";
  };
  measure.addEventListener("change", () => {
    const chosen = measures.find(({ name }) => name === measure.value);
    if (!chosen) return line.focus();
    line.value = chosen.line;
    edited();
  });
  line.addEventListener("input", () => {
    edited();
    choose();
  });
  line.addEventListener("keydown", ({ key }) => key === "Enter" && !train.disabled && train.click());
  session.events.on(
    "reward",
    (answer) => {
      if (answer.line === line.value.trim()) tell(answer.problem);
    },
    signal,
  );
  session.events.on("drill", rebuild, signal);
  session.events.on("status", follow, signal);
  signal.addEventListener("abort", () => clearTimeout(timer), { once: true });
  rebuild();
  return fold;
}
