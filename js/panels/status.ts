/** The status of the training: one pill, and one sentence on what it does or what went wrong. */

import type { Status } from "../contract/protocol";
import { h, setText } from "../ui/dom";
import type { Panel, PanelView } from "./panel";

const NAMES: Record<Status, string> = {
  idle: "Ready",
  starting: "Starting",
  training: "Training",
  stopping: "Stopping",
  stopped: "Stopped",
  error: "Error",
  disconnected: "Disconnected",
};

/** Said where the kernel says nothing more exact. */
export const SENTENCES: Record<Status, string> = {
  idle: "Press Train. The players learn in the background. Each new policy joins the match you are watching.",
  starting: "Starting processes and compiling the rules.",
  training: "Each new policy joins the match as soon as it is published.",
  stopping: "Finishing the last update.",
  stopped: "Training is stopped. Press Train to continue.",
  error: "Training stopped because of an error.",
  disconnected: "Run this cell again to resume training.",
};

/** The same of a match that was saved without its kernel. */
const SAVED = { name: "Saved match", sentence: "The match runs in your browser, and you can play in it. Further training needs a Python kernel." };

const TOLD: readonly Status[] = ["starting", "training", "stopping", "stopped", "error"]; // where the kernel knows more

export const status: Panel = { area: "learn", build };

function build({ session, signal }: PanelView): HTMLElement {
  const pill = h("span", { class: "pill" });
  const sentence = h("p", { class: "sentence" });
  const problem = h("p", { class: "problem" });
  const notice = h("p", { class: "notice" });

  const follow = () => {
    const now = session.status;
    pill.dataset.status = now;
    if (now !== "training") pill.dataset.beat = "0";
    const paused = now === "training" && session.model.get("paused");
    pill.toggleAttribute("data-paused", paused);
    setText(pill, paused ? "Learning paused" : (NAMES[now] ?? now));
    setText(sentence, (TOLD.includes(now) && sentenceOf(session.model.get("status_text"))) || (SENTENCES[now] ?? ""));
    if (session.model.standalone) {
      pill.dataset.status = "idle";
      setText(pill, SAVED.name);
      setText(sentence, SAVED.sentence);
    }
    setText(problem, session.model.get("error") ?? "");
    problem.hidden = !problem.textContent;
    sentence.hidden = !problem.hidden && now === "error";
  };
  let beats = 0;
  session.events.on("status", follow, signal);
  const beat = () => {
    if (session.status === "training") pill.dataset.beat = String(++beats % 2);
  };
  session.events.on("history", beat, signal);
  session.events.on(
    "notice",
    (text) => {
      setText(notice, text);
      notice.hidden = !text;
    },
    signal,
  );
  notice.hidden = true;
  follow();

  return h("div", { class: "status", role: "status", "aria-live": "polite" }, pill, h("div", { class: "sentences" }, sentence, problem, notice));
}

/** With a capital and a full stop. */
function sentenceOf(text: string): string {
  const end = /[.!?…]$/.test(text) ? "" : ".";
  return text && text.charAt(0).toUpperCase() + text.slice(1) + end;
}
