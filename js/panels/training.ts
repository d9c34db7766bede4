/** Training: Train and Stop, one in the place of the other; in the Lab pause learning, run one update, forget everything, and where it trains. */

import type { Status } from "../contract/protocol";
import { asSentence } from "../contract/sentences";
import { CONTROLS } from "../contract/tables";
import { needsKernel } from "../session/kernel/lost_kernel";
import { button, focused, h, icon, setAttribute, setText } from "../ui/dom";
import type { Panel, PanelView } from "./panel";

const TRAIN = `${CONTROLS.train}: learn in the background while the match continues`;
const BUSY: readonly Status[] = ["starting", "training", "stopping"];
const HOLD = { name: CONTROLS["pause-learning"], title: `${CONTROLS["pause-learning"]}: the match continues with the current policy` };
const GO_ON = { name: "Resume learning", title: "Resume learning: continue at the chosen pace" };

export const training: Panel = { parts: { hero: buildHero, lab: buildBench } };

/** The buttons follow the kernel's word. */
function buildHero({ session, undoing, signal }: PanelView): HTMLElement {
  const train = button("train", { icon: "play", class: "button primary", title: TRAIN }, () => undoing.train());
  const stop = button("stop", { icon: "stop", class: "button stop", title: `${CONTROLS.stop}: end training and keep what was learned` }, () =>
    session.kernel.send({ type: "STOP_TRAINING" }),
  );
  const follow = () => {
    const reported = session.model.get("status");
    const busy = BUSY.includes(reported);
    const held = focused(train) || focused(stop);
    train.hidden = busy;
    train.disabled = !session.kernel.connected;
    train.title = train.disabled ? needsKernel(session.model) : TRAIN;
    stop.hidden = !busy || !session.kernel.connected; // nobody is there to stop it
    stop.disabled = reported === "stopping";
    if (held) (busy ? stop : train).focus({ preventScroll: true }); // the place keeps the focus
  };
  session.events.on("status", follow, signal);
  follow();
  return h("section", { class: "actions", "aria-label": "Training" }, train, stop);
}

function buildBench({ session, undoing, signal }: PanelView): HTMLElement {
  const hold = button("pause-learning", { icon: "pause", title: HOLD.title }, () =>
    session.kernel.send({ type: session.model.get("paused") ? "RESUME_TRAINING" : "PAUSE_TRAINING" }),
  );
  const next = button("next-update", { icon: "decision", title: "Next update: run one update, then pause learning" }, () => session.nextUpdate());
  const forget = button(
    "forget",
    {
      icon: "reset",
      class: "button quiet",
      title: "Forget everything: discard what was learned; the match continues. Undo brings it back, until something new is learned.",
    },
    () => undoing.forget(),
  );
  const where = h("p", { class: "help" });
  const follow = () => {
    const reported = session.model.get("status");
    setText(where, reported === "training" ? asSentence(session.model.get("status_text") ?? "") : "");
    where.hidden = !where.textContent;
    const gone = !session.kernel.connected;
    hold.disabled = gone || (reported !== "training" && reported !== "starting");
    next.disabled = gone || reported === "stopping";
    forget.disabled = gone;
    const paused = session.model.get("paused");
    const { name, title } = paused ? GO_ON : HOLD;
    setAttribute(hold, "aria-label", name);
    hold.title = title;
    setText(hold.querySelector(".text")!, name);
    hold.querySelector(".icon")!.replaceWith(icon(paused ? "play" : "pause"));
  };
  session.events.on("status", follow, signal);
  follow();
  return h("section", { class: "bench", "aria-label": "Learning by hand" }, h("h3", {}, "Learning"), h("div", { class: "cluster" }, hold, next, forget), where);
}
