/** What lies over the pitch in a duel: the countdown with the keys, and the end card. */
import { keyHelp } from "../input/key_names";
import { ageInWords, GOALS, type Phase, SECONDS } from "../session/duel";
import { rivalName } from "../session/player_names";
import { button, h, setText } from "../ui/dom";
import type { View } from "./view";

/** `focusMatch` gives the keys to the match, `share` opens the Share menu. */
export function buildDuelOverlay({ session, duel, signal }: View, focusMatch: () => void, share: () => void): HTMLElement {
  const count = h("p", { class: "count", role: "status" });
  const rules = h("p", { class: "rules" });
  const keys = h("div", { class: "keys" });
  const countdown = h("div", { class: "countdown" }, count, keys, rules);

  const result = h("strong", { class: "result" });
  const age = h("span", { class: "age" });
  const again = button("challenge-again", { class: "button primary" }, () => duel.start());
  const buttons = [
    again,
    button("challenge-share", { icon: "share", title: "Share: save this match as replay, picture or film" }, share),
    button("challenge-leave", {}, () => duel.leave()),
  ];
  const card = h(
    "div",
    { class: "end-card", role: "dialog", "aria-label": "The match is over" },
    h("p", {}, result, age),
    h("div", { class: "cluster" }, ...buttons),
  );
  card.addEventListener("keydown", (event) => event.key === "Escape" && duel.leave());
  const overlay = h("div", { class: "duel" });

  const show = (phase: Phase) => {
    overlay.hidden = phase.name === "off" || phase.name === "on";
    overlay.replaceChildren(...(phase.name === "countdown" ? [countdown] : phase.name === "over" ? [card] : []));
    if (phase.name === "countdown") {
      setText(count, String(phase.count));
      setText(rules, `First to ${GOALS} goals against ${rivalName(session, session.state.version)}, or ${SECONDS} seconds.`);
      if (phase.count === 3) focusMatch();
    }
    if (phase.name === "over") {
      const [you, it] = phase.goals;
      setText(result, `${you > it ? "You won" : you < it ? "You lost" : "A draw:"} ${you} : ${it}`);
      setText(age, ` against ${phase.rival}${phase.age === null ? "" : `, ${ageInWords(phase.age)}`}`);
      again.focus({ preventScroll: true });
    }
  };
  const rebuild = () => {
    const spec = session.model.get("drill")?.spec;
    const words = spec ? keyHelp(spec) : [];
    keys.replaceChildren(
      ...words.map(({ choice, options }) =>
        h(
          "span",
          { class: "choice" },
          h("span", { class: "verb" }, choice),
          ...options.map(({ option, caps }) =>
            h("span", { class: "key" }, ...caps.slice(0, 1).map((cap) => h("kbd", {}, cap)), option === "yes" ? null : option),
          ),
        ),
      ),
    );
  };
  session.events.on("drill", rebuild, signal);
  session.events.on("duel", () => show(duel.phase), signal);
  rebuild();
  show(duel.phase);
  return overlay;
}
