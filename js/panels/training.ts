/** Buttons of the training: train, stop, reset, pause learning, and run one update. */

import type { Status } from "../contract/protocol";
import { button, h, icon, setAttribute, setText } from "../ui/dom";
import type { Panel, PanelView } from "./panel";

const BUSY: readonly Status[] = ["starting", "training", "stopping"];
const HOLD = { name: "Pause learning", text: "Pause learning", title: "Pause learning: the match continues with the current policy" };
const GO_ON = { name: "Resume learning", text: "Resume learning", title: "Resume learning: continue at the chosen pace" };

export const training: Panel = { area: "learn", build };

function build({ session, signal }: PanelView): HTMLElement {
  const train = button(
    "Train",
    { icon: "play", text: "Train", class: "button primary", title: "Train: learn in the background while the match continues" },
    () => session.train(),
  );
  const stop = button("Stop", { icon: "stop", text: "Stop", title: "Stop: end training and keep what was learned" }, () =>
    session.kernel.send({ type: "STOP_TRAINING" }),
  );
  const reset = button(
    "Reset training",
    { icon: "reset", text: "Reset training", class: "button quiet", title: "Reset training: discard what was learned; the match continues" },
    () => session.kernel.send({ type: "RESET_TRAINER" }),
  );
  const hold = button(HOLD.name, { icon: "pause", text: HOLD.text, title: HOLD.title }, () =>
    session.kernel.send({ type: session.model.get("paused") ? "RESUME_TRAINING" : "PAUSE_TRAINING" }),
  );
  const next = button("Next update", { icon: "decision", text: "Next update", title: "Next update: run one update, then pause learning" }, () =>
    session.nextUpdate(),
  );

  const followStatus = () => {
    const reported = session.model.get("status"); // the buttons follow the kernel's word, even while it is silent
    const paused = session.model.get("paused");
    train.disabled = BUSY.includes(reported);
    stop.disabled = reported !== "training" && reported !== "starting";
    hold.disabled = stop.disabled;
    next.disabled = reported === "stopping";
    train.classList.toggle("busy", train.disabled);
    const { name, text, title } = paused ? GO_ON : HOLD;
    setAttribute(hold, "aria-label", name);
    hold.title = title;
    setText(hold.querySelector(".text")!, text);
    hold.querySelector(".icon")!.replaceWith(icon(paused ? "play" : "pause"));
  };
  session.events.on("status", followStatus, signal);
  followStatus();

  return h(
    "section",
    { class: "actions", "aria-label": "Training" },
    h("div", { class: "cluster" }, train, stop, reset),
    h("div", { class: "cluster" }, hold, next),
  );
}
