/** The line below the pitch: Play and Pause, one in the place of the other, a step while the match stands, the speed, and who plays. */

import type { Mode } from "../../contract/protocol";
import { MODES, SPEEDS } from "../../contract/tables";
import { opponentName } from "../../session/player_names";
import { button, field, focused, h, select, selectValue, setOptions } from "../../ui/dom";
import { multiple } from "../../ui/format";
import type { PanelSession, PanelView } from "../panel";

const MODE_NAMES: Record<Mode, string> = {
  ai_vs_ai: "AI vs AI",
  human_vs_ai: "You vs AI",
  sandbox: "AI vs opponent",
};
const MODE_NAMES_ALONE: Partial<Record<Mode, string>> = { ai_vs_ai: "AI", human_vs_ai: "You" };
const MODE_NAMES_ELSEWHERE: Partial<Record<Mode, string>> = { human_vs_ai: "You vs opponent", sandbox: "AI vs opponent" }; // it plays blue only
const NEWEST = "newest version";

/** What the drill's modes are called here, in their order; those that it has. */
export function modeNames({ model, elsewhere }: PanelSession): Partial<Record<Mode, string>> {
  return model.get("drill")?.spec.sides === 1 ? MODE_NAMES_ALONE : elsewhere ? MODE_NAMES_ELSEWHERE : MODE_NAMES;
}

export function buildLine({ session, signal }: PanelView): HTMLElement {
  const play = button("play", { icon: "play", title: "Play: run the match" }, () => session.setShow({ playing: true }));
  const pause = button("pause", { icon: "pause", title: "Pause: freeze the match" }, () => session.setShow({ playing: false }));
  const step = session.pictures
    ? button("step", { text: "", icon: "decision", title: "Step: advance by one environment step" }, () => session.step("tick"))
    : button("step-decision", { text: "", icon: "decision", title: "Step decision: advance to the players' next decision" }, () => session.step("decision"));
  const speed = select(
    { title: "Speed of the match" },
    SPEEDS.map((value) => [String(value), multiple(value)]),
  );
  speed.addEventListener("change", () => session.setShow({ speed: Number(speed.value) }));
  const mode = select({ title: "Who plays" }, []);
  mode.addEventListener("change", () => {
    const chosen = mode.value as Mode;
    const newest = chosen === "human_vs_ai" && !session.elsewhere; // whom a person meets until they choose another one
    session.setShow({ mode: chosen, ...(newest && { opponent: "" }) });
  });
  const opponent = select({ title: "Plays the other side: a script or a trained policy" }, []);
  opponent.addEventListener("change", () => {
    const duel = session.alone; // another opponent ends it: the kernel hands over the policies of everybody's match only
    session.setShow({ opponent: opponent.value, ...(duel && { mode: session.show.mode }) });
  });
  const players = field("mode", mode);
  const rival = field("opponent", opponent);
  players.hidden = session.pictures;

  let newest = false; // whether the opponents have the newest version among them
  const meetsNewest = () => session.show.mode === "human_vs_ai" && !session.elsewhere && (session.model.get("policy")?.version ?? 0) > 0;
  const offerPlayers = () => {
    const { baselines = [] } = session.model.get("drill")?.spec ?? {};
    const names = modeNames(session);
    setOptions(
      mode,
      MODES.flatMap((value) => (names[value] ? ([[value, names[value]]] as const) : [])),
    );
    const others = [...new Set([...baselines, "random", "idle", ...Object.keys(session.facing.rivals)])].map((name) => [name, opponentName(name)] as const);
    newest = meetsNewest();
    setOptions(opponent, newest ? [["", NEWEST], ...others] : others);
    follow();
  };
  const follow = () => {
    if (newest !== meetsNewest()) return offerPlayers();
    const { show } = session;
    const alone = session.model.get("drill")?.spec.sides === 1;
    const held = focused(play) || focused(pause);
    play.hidden = show.playing;
    pause.hidden = !show.playing;
    step.hidden = show.playing;
    if (session.pictures) for (const element of [play, pause, step, speed]) element.disabled = !session.kernel.connected; // who plays it
    if (held) (show.playing ? pause : play).focus({ preventScroll: true }); // the place keeps the focus
    selectValue(speed, String(show.speed), multiple(show.speed));
    selectValue(mode, show.mode);
    selectValue(opponent, newest ? show.opponent : session.facing.opponent);
    rival.hidden = alone || (show.mode === "ai_vs_ai" && !session.elsewhere);
  };
  for (const event of ["drill", "rivals", "status"] as const) session.events.on(event, offerPlayers, signal);
  for (const event of ["show", "history"] as const) session.events.on(event, follow, signal);
  offerPlayers();

  return h("div", { class: "transport", role: "group", "aria-label": "Match controls" }, play, pause, step, field("speed", speed), players, rival);
}
