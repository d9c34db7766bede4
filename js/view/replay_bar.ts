/** What lies over the pitch while a replay is played: what it is, how far it has come, and the way back. */
import { button, h, setText } from "../ui/dom";
import { clock } from "../ui/format";
import type { View } from "./view";

/** Marks the `stage` while it is there: nothing on the pitch obeys then. `focusMatch` gives the focus to the match when the bar goes. */
export function buildReplayBar({ session, signal }: View, stage: HTMLElement, focusMatch: () => void): HTMLElement {
  const place = h("span");
  const back = button("replay-leave", { title: "Back to the live match: it continues where it stopped" }, () => {
    session.replay.end();
    focusMatch();
  });
  const bar = h("div", { class: "replay", role: "group", "aria-label": "Replay" }, h("strong", {}, "Replay"), place, back);
  const follow = () => {
    const { recording } = session.replay;
    const rate = session.model.get("drill")?.spec.tick_rate ?? 120;
    bar.hidden = !recording;
    stage.toggleAttribute("data-replay", !bar.hidden);
    if (recording) setText(place, `${clock(session.state.tick / rate)} of ${clock(recording.ticks / rate)}`);
  };
  session.events.on("replay", follow, signal);
  session.events.on("state", follow, signal);
  follow();
  return bar;
}
