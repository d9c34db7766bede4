/** The status of the training: one pill, one sentence on what it does or what went wrong, and what it has reached. */

import type { Status } from "../../contract/protocol";
import { withStop } from "../../contract/sentences";
import { runSettings } from "../../session/settings/run_settings";
import { h, setText } from "../../ui/dom";
import type { Panel, PanelView } from "../panel";
import { buildPreview } from "./preview";
import { forgets, sentenceOf } from "./sentence";
import { buildTargets } from "./targets";
import { buildUndo } from "./undo";

const NAMES: Record<Status, string> = {
  idle: "Ready",
  starting: "Starting",
  training: "Training",
  stopping: "Stopping",
  stopped: "Stopped",
  error: "Error",
  disconnected: "Disconnected",
};

const SILENT = /not responding/; // what the kernel says of such a learner: training/status.py

/** The same of a match that was saved without its kernel. */
const SAVED = { name: "Saved match", sentence: "The match runs in your browser, and you can play in it. Further training needs a Python kernel." };

export const status: Panel = { parts: { hero: build } };

function build(view: PanelView): HTMLElement {
  const { session, signal } = view;
  const pill = h("span", { class: "pill" });
  const sentence = h("p", { class: "sentence", "aria-live": "off" }); // its numbers change every second
  const problem = h("p", { class: "problem" });
  const notice = h("p", { class: "notice" });

  const games = () => Number(session.model.get("config")?.values.num_envs ?? 0);
  const follow = () => {
    const now = session.status;
    pill.dataset.status = now;
    if (now !== "training") pill.dataset.beat = "0";
    const paused = now === "training" && session.model.get("paused");
    pill.toggleAttribute("data-paused", paused);
    const silent = now === "training" && SILENT.test(session.model.get("status_text"));
    if (silent) pill.dataset.status = "silent";
    setText(pill, paused ? "Learning paused" : silent ? "Not responding" : (NAMES[now] ?? now));
    const [rows, config] = [session.history.rows, runSettings(session.model.get("config"))];
    const lost = forgets(now, config, session.drafts.values, rows.at(-1)?.updates, session.model.byItself ? "in this browser" : undefined);
    setText(sentence, lost || sentenceOf(now, session.model.get("status_text"), paused ? 0 : games(), rows.at(-1)));
    if (session.model.standalone) {
      pill.dataset.status = "idle";
      setText(pill, SAVED.name);
      setText(sentence, SAVED.sentence);
    }
    setText(problem, withStop(session.model.get("error") ?? ""));
    problem.hidden = !problem.textContent;
    sentence.hidden = !problem.hidden && now === "error";
  };
  let beats = 0;
  session.events.on("status", follow, signal);
  session.events.on("config", follow, signal);
  const beat = () => {
    if (session.status === "training") pill.dataset.beat = String(++beats % 2);
    follow();
  };
  session.events.on("history", beat, signal);
  session.events.on(
    "notice",
    (text) => {
      setText(notice, withStop(text));
      notice.hidden = !text;
    },
    signal,
  );
  notice.hidden = true;
  follow();

  const told = h("div", { class: "status", role: "status", "aria-live": "polite" }, pill, h("div", { class: "sentences" }, sentence, problem, notice));
  const { list, next } = buildTargets(view);
  const beside = h("div", { class: "beside" }, next, buildPreview(view), buildUndo(view)); // one of them, in one place
  return h("div", { class: "report" }, told, h("div", { class: "reached" }, list, beside));
}
