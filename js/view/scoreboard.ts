/** The scoreboard: names, score, clock and policy version. */
import { ghostOf, playerNames } from "../session/player_names";
import { button, h, setAttribute, setText } from "../ui/dom";
import { clock } from "../ui/format";
import type { View } from "./view";

const COUNT_MS = 1000; // between two looks at frames/s
const REST_MS = 1500; // a version that comes sooner after another one does not leap: what never rests tells nothing

/** `share` stands beside the button for the full screen, which shows `stage`. */
export function buildScoreboard({ session, signal }: View, stage: HTMLElement, share: HTMLElement): HTMLElement {
  const names = [h("span", { class: "name" }), h("span", { class: "name" })] as const;
  const goals = [h("span", { class: "goals" }, "0"), h("span", { class: "goals" }, "0")] as const;
  const time = h("span", { class: "time", title: "Match time since the widget started" }, "0:00");
  const version = h("span", { class: "version" }, "v0");
  const fps = h("span", { class: "fps" });
  let [counted, swapped] = [-Infinity, -Infinity]; // ms: when frames/s were last written, when the policy last changed

  const follow = () => {
    const { version: playing } = session.state;
    const alone = session.model.get("drill")?.spec.sides === 1;
    const [blue, orange] = playerNames(session);
    setText(names[0], blue);
    setText(names[1], alone ? "steps" : orange);
    setAttribute(names[0], "title", blue); // a long name is cut
    setAttribute(names[1], "title", ghostOf(session) >= 0 ? "Ghost: an earlier version from this training run" : names[1].textContent);
    setAttribute(goals[0], "title", alone ? "Return of this episode" : "Goals");
    setAttribute(goals[1], "title", alone ? "Decisions of this episode" : "Goals");
    setText(version, `v${playing}`);
    setAttribute(version, "title", playing > 0 ? `Policy version ${playing} is playing` : "No policy has been trained yet");
  };
  const state = () => {
    const { tick, score, fps: rate } = session.state;
    const alone = session.model.get("drill")?.spec.sides === 1;
    score.forEach((count, side) => {
      const before = Number(goals[side]!.textContent);
      setText(goals[side]!, String(Math.round(100 * count) / 100));
      if (count === before + 1 && !alone) bump(goals[side]!);
    });
    setText(time, clock(tick / (session.model.get("drill")?.spec.tick_rate ?? 120)));
    const now = performance.now();
    if (now - counted >= COUNT_MS) {
      counted = now;
      setText(fps, rate > 0 ? `${Math.round(rate)} fps` : "");
    }
    const was = version.textContent;
    follow();
    if (version.textContent === was) return;
    if (was !== "v0" && now - swapped >= REST_MS) bump(version);
    swapped = now;
  };
  session.events.on("show", follow, signal);
  session.events.on("past", follow, signal);
  session.events.on("drill", follow, signal);
  session.events.on("state", state, signal);
  state();

  const full = button("Full screen", { icon: "expand", class: "button on-board" }, () => {
    if (document.fullscreenElement) void document.exitFullscreen();
    else void stage.requestFullscreen({ navigationUI: "hide" });
  });
  full.hidden = !document.fullscreenEnabled;

  const side = (index: 0 | 1) => h("span", { class: "side", "data-side": index }, names[index], goals[index]);
  return h(
    "div",
    { class: "scoreboard", role: "group", "aria-label": "Scoreboard" },
    h("span", { class: "corner" }, version),
    h("span", { class: "board" }, side(0), time, side(1)),
    h("span", { class: "corner end" }, fps, share, full),
  );
}

/** A small leap, for those who like motion (style.css leaves it out for the others). */
function bump(element: HTMLElement): void {
  element.classList.remove("bump");
  void element.offsetWidth; // restarts the animation
  element.classList.add("bump");
}
