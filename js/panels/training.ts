/** Train, Stop training, Reset training. */
import { button, h } from "../dom";
import type { Status } from "../protocol";
import type { Panel, View } from "./panel";

const BUSY: readonly Status[] = ["starting", "training", "stopping"];

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

  return h("section", { class: "cluster actions", "aria-label": "Training" }, train, stop, reset);
}
