/** Train, Stop training, Reset training, and the three numbers that say how it goes. */
import { button, h, setText } from "../dom";
import { clock, compact, percent } from "../format";
import type { MetricsRow, Status } from "../protocol";
import type { Panel, View } from "./panel";

const BUSY: readonly Status[] = ["starting", "training", "stopping"];
const WIN_RATES = ["win_rate_chaser", "win_rate_ema", "win_rate_random"] as const;

export const training: Panel = { area: "learn", build };

function build({ session, signal }: View): HTMLElement {
  const train = button(
    "Train",
    { icon: "play", text: "Train", class: "button primary", title: "Train: learn in the background while the match goes on" },
    () => session.train(),
  );
  const stop = button("Stop training", { icon: "stop", text: "Stop", title: "Stop training: keep what was learned" }, () =>
    session.kernel.send({ type: "STOP_TRAINING" }),
  );
  const reset = button(
    "Reset training",
    { icon: "reset", text: "Start over", class: "button quiet", title: "Reset training: forget what was learned; the match goes on" },
    () => session.kernel.send({ type: "RESET_TRAINER" }),
  );

  const followStatus = () => {
    const told = session.model.get("status"); // the buttons follow the kernel's word, even while it is silent
    train.disabled = BUSY.includes(told);
    stop.disabled = told !== "training" && told !== "starting";
    train.classList.toggle("busy", train.disabled);
  };
  session.events.on("status", followStatus, signal);
  followStatus();

  const tiles = HEADLINES.map(({ caption, title, read }) => {
    const value = h("span", { class: "value" }, "–");
    const tile = h("div", { class: "tile", title }, value, h("span", { class: "caption" }, caption));
    return { tile, show: (row: MetricsRow) => setText(value, read(row)) };
  });
  const followMetrics = () => {
    const row = session.history.rows.at(-1) ?? {};
    for (const { show } of tiles) show(row);
  };
  session.events.on("history", followMetrics, signal);
  followMetrics();

  return h(
    "section",
    { class: "training", "aria-label": "Training" },
    h("div", { class: "cluster actions" }, train, stop, reset),
    h("div", { class: "tiles" }, ...tiles.map(({ tile }) => tile)),
  );
}

const HEADLINES: { caption: string; title: string; read: (row: MetricsRow) => string }[] = [
  {
    caption: "wins",
    title: "Share of decided matches won against the script",
    read: (row) => percent(WIN_RATES.map((key) => row[key]).find((value) => value !== undefined)),
  },
  {
    caption: "steps / s",
    title: "Decisions that the learning sides make and learn from per second",
    read: (row) => compact(row.agent_steps_per_second),
  },
  { caption: "updates", title: "Rollouts learned from since the start", read: (row) => compact(row.updates) },
  {
    caption: "training time",
    title: "Time spent training since the start",
    read: (row) => (row.seconds === undefined ? "–" : clock(row.seconds)),
  },
];
