/**
 * The panel of a shared server: the training time that is left, resuming the run of an earlier kernel, and submitting the policy to
 * the class league. Hidden where the server has none of these.
 */
import { button, h, setAttribute, setText } from "../ui/dom";
import { clock, compact } from "../ui/format";
import type { Panel, PanelView } from "./panel";

const SHORT = 120; // s; from here on the time that is left stands out

export const quota: Panel = { applies: ({ model }) => Object.keys(model.get("seat") ?? {}).length > 0, parts: { tab: build } };

function build({ session, signal }: PanelView): HTMLElement {
  const { kernel, model } = session;
  const left = h("output", { class: "number", "aria-label": "Training time left" });
  const extend = button(["more-time", "More time"], { text: "" }, () => kernel.send({ type: "EXTEND_TRAINING" }));
  const time = h("div", { class: "cluster allowance" }, h("span", { class: "caption" }, "Training time left"), left, extend);

  const found = h("span", { class: "caption" });
  const resume = button(["resume-run", "Resume run"], { icon: "play" }, () => kernel.send({ type: "RESUME_RUN" }));
  const earlier = h("div", { class: "cluster before" }, resume, found);

  const answer = h("p", { class: "answer", role: "status", "aria-live": "polite" });
  const submit = button("submit", { icon: "open", title: "Submit: send the newest policy to the class league" }, () => kernel.send({ type: "SUBMIT_POLICY" }));
  const league = h("div", { class: "cluster send" }, submit, answer);
  const panel = h("section", { class: "seat", "aria-label": "This server" }, time, earlier, league);

  const follow = () => {
    const now = model.get("seat") ?? {};
    const gone = !kernel.connected;
    time.hidden = !now.minutes;
    if (now.minutes) {
      setText(left, clock(now.left ?? 0));
      left.toggleAttribute("data-short", (now.left ?? 0) <= SHORT);
      const more = `+${now.minutes} min`;
      setText(extend, more);
      setAttribute(extend, "aria-label", more);
      extend.title = `${more}: add ${now.minutes} minutes before training stops automatically`;
      extend.disabled = gone;
    }
    earlier.hidden = !now.earlier || gone;
    if (now.earlier) {
      const name = `Resume run from ${moment(now.earlier.saved_at)}`;
      setText(resume.querySelector(".text")!, name);
      setAttribute(resume, "aria-label", name);
      resume.title = `${name}: continue the training that an earlier kernel did not finish`;
      setText(found, `version ${now.earlier.version}, ${compact(now.earlier.step)} agent steps`);
    }
    league.hidden = !now.league || gone;
    submit.disabled = now.sent?.state === "sending" || !model.get("policy")?.version;
    setText(answer, now.sent?.state === "sending" ? "Sending…" : (now.sent?.text ?? ""));
    answer.dataset.state = now.sent?.state ?? "";
    answer.hidden = !answer.textContent;
    panel.hidden = time.hidden && earlier.hidden && league.hidden;
  };
  session.events.on("seat", follow, signal);
  session.events.on("status", follow, signal);
  session.events.on("history", follow, signal);
  follow();
  return panel;
}

/** The time of day, with the date where it was another day; `seconds` since 1970. */
function moment(seconds: number): string {
  const then = new Date(1000 * seconds);
  const time = then.toLocaleTimeString([], { hour: "numeric", minute: "2-digit" });
  return then.toDateString() === new Date().toDateString() ? time : `${then.toLocaleDateString([], { day: "numeric", month: "short" })}, ${time}`;
}
