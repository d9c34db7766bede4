/** The learning pace: a dial from a pace at which every update can be watched to all that the machine can do. */
import { h, setText } from "../../ui/dom";
import { compact } from "../../ui/format";
import { FULL, nearestStop, PACES, updatesAt } from "./stops";
import type { Panel, View } from "../panel";

export const pace: Panel = { area: "learn", build };

function build({ session, signal }: View): HTMLElement {
  const dial = h("input", {
    type: "range",
    min: 0,
    max: PACES.length - 1,
    step: 1,
    "aria-label": "Learning pace",
    title: "Learning pace: decisions that the learning sides make and learn from per second, at most. Takes effect at once.",
  });
  const value = h("output", { class: "number" });
  const sentence = h("p", { class: "help" });
  const stops = PACES.map((stop, at) => h("span", { style: `--at: ${at / (PACES.length - 1)}` }, stop === FULL ? "Full" : compact(stop)));

  const chosen = () => Number(session.drafts().pace ?? session.model.get("config")?.values.pace ?? FULL);
  const follow = () => {
    const now = chosen();
    const name = now === FULL ? "Full speed" : `${compact(now)} steps / s`;
    const meaning = updatesAt(now, session.history.rows.at(-1), session.model.get("config")?.values ?? {}, session.model.get("drill")?.spec);
    if (document.activeElement !== dial || PACES[Number(dial.value)] !== now) dial.value = String(nearestStop(now));
    dial.setAttribute("aria-valuetext", `${name}. ${meaning}`);
    setText(value, name);
    setText(sentence, meaning);
  };
  dial.addEventListener("input", () => session.setHyper("pace", PACES[Number(dial.value)]!));
  session.events.on("config", follow, signal);
  session.events.on("history", follow, signal);
  follow();

  return h(
    "section",
    { class: "pace", "aria-label": "Pace" },
    h("div", { class: "bar" }, h("h3", { class: "heading" }, "Learning pace"), value),
    dial,
    h("div", { class: "stops", "aria-hidden": "true" }, ...stops),
    sentence,
  );
}
