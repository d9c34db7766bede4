/** The page of the widget: one session per model, one view per place it is shown in. js/widget.ts loads it. */

import type { Model } from "./contract/model";
import type { PageAttribute } from "./contract/protocol";
import { PAGE_FEATURES } from "./features/page";
import type { Between } from "./features/plug";
import { keepKeys } from "./input/notebook_keys";
import { Duel } from "./session/duel";
import type { Ready } from "./session/events";
import { kernelLost, restartHint } from "./session/kernel/lost_kernel";
import { Session } from "./session/session";
import { Undoing } from "./session/undoing";
import { h, setAttribute } from "./ui/dom";
import { detectTheme, reducedMotion, watchTheme } from "./ui/theme";
import { buildFrame } from "./view/frame";
import { buildGameHeading } from "./view/game_heading";
import { placePanels } from "./view/panel_layout";
import { buildRendererNote, buildStage } from "./view/stage";
import type { View } from "./view/view";

type CleanUp = () => void;

/** A factory, so that every model's session is its own even where hosts share one copy of this module. */
export default function widget() {
  let shown: Parts | null = null;
  return {
    initialize({ model }: { model: Model }): CleanUp {
      let own = model;
      const betweens: Between[] = [];
      for (const { between } of PAGE_FEATURES) {
        if (!between) continue;
        betweens.push(new between(own));
        own = betweens.at(-1)!.model;
      }
      const session = new Session(
        own,
        PAGE_FEATURES.flatMap(({ link }) => link ?? []),
      );
      const ending = new AbortController();
      session.events.on("status", () => {
        for (const between of betweens) between.kernelIs(session.kernel.connected || own.standalone === true);
      });
      shown = { session, betweens, duel: new Duel(session, ending.signal), undoing: new Undoing(session, ending.signal) };
      return () => {
        ending.abort();
        for (const between of betweens) between.dispose();
        session.dispose();
      };
    },
    render({ el }: { model: Model; el: HTMLElement }): CleanUp {
      if (!shown) throw new Error("render was called before initialize: the host must call initialize first");
      return renderView(shown, el);
    },
  };
}

/** What all views of one model share. */
interface Parts {
  session: Session;
  betweens: readonly Between[];
  duel: Duel;
  undoing: Undoing;
}

function renderView({ session, betweens, duel, undoing }: Parts, el: HTMLElement): CleanUp {
  const ending = new AbortController();
  const { signal } = ending;
  const themed = new Set<() => void>();
  const number = session.nextView();
  let tabChanged = () => {};
  const frame = buildFrame(`${session.id}-${number}`, () => tabChanged());
  const view: View = {
    ...{ session, duel, undoing, signal, features: PAGE_FEATURES },
    shown: { now: true, follow: () => {} },
    open: (tab) => frame.tabs.open(tab),
    themed: (changed) => themed.add(changed),
  };

  const banner = h("p", { class: "banner", role: "alert" });
  const theme = () => (root.dataset.theme === "dark" ? ("dark" as const) : ("light" as const));
  const root = h("div", { class: "dshq-widget" }, banner, frame.element);

  let calm = reducedMotion();
  const followTheme = () => {
    const [theme, reduced] = [detectTheme(), reducedMotion()];
    if (root.dataset.theme === theme && calm === reduced) return;
    [root.dataset.theme, calm] = [theme, reduced];
    for (const changed of themed) changed();
  };
  root.dataset.theme = detectTheme();
  watchTheme(followTheme, signal);

  root.prepend(buildGameHeading(view, theme));
  frame.column.append(buildRendererNote(view, number));
  el.append(root); // before the panels are built: charts and canvas measure themselves
  tabChanged = placePanels(view, frame);
  followContract(session, number, root, banner, signal);
  const set = (name: string, value: string) => setAttribute(root, `data-${name}`, value);
  banner.after(...betweens.map((between) => between.show(set, signal)));
  buildStage(frame, { view, number, theme });
  session.kernel.watchView(el, signal);

  keepKeys(root, signal);

  return () => {
    ending.abort();
    root.remove();
  };
}

/** The root's data-* attributes, which tests and scripts rely on (docs/contract.md). */
function followContract(session: Session, number: number, root: HTMLElement, banner: HTMLElement, signal: AbortSignal): void {
  const set = (name: PageAttribute, value: string | number | boolean) => setAttribute(root, `data-${name}`, String(value));

  const status = () => {
    const now = session.status;
    set("status", now);
    set("trainer", session.model.trainedBy ?? "kernel");
    banner.hidden = now !== "disconnected" || session.model.standalone === true;
    if (!banner.hidden) banner.textContent = `${kernelLost(session)} ${restartHint(session.model)}`;
  };
  const show = () => set("mode", session.show.mode);
  const drill = () => {
    const spec = session.model.get("drill")?.spec;
    set("drill", spec?.name ?? "");
    if (spec) root.style.setProperty("--aspect", String((spec.world[2] - spec.world[0]) / (spec.world[3] - spec.world[1])));
  };
  const picture = ({ width, height }: { width: number; height: number }) => root.style.setProperty("--aspect", String(width / height));
  const state = () => {
    const { version, tick, score, fps, playing } = session.state;
    set("version", version);
    set("tick", tick);
    set("score", score.join("-"));
    set("fps", Math.round(fps));
    set("frame-ms", Math.round(session.state.frame_ms ?? 0));
    set("playing", playing);
  };
  const history = () => {
    const { win_rate_ema: scripted, win_rate_random: random, agent_steps: steps, evaluated_return: alone } = session.model.get("metrics") ?? {};
    const number = (value: unknown, digits: number) => (typeof value === "number" ? value.toFixed(digits) : ""); // whatever a kernel says
    set("win-rate", number(scripted, 4));
    set("win-rate-random", number(random, 4));
    set("return", number(alone, 4));
    set("agent-steps", number(steps, 0));
  };
  const ready = ({ view, renderer, thread, reason }: Ready) => {
    if (view !== number) return;
    set("renderer", renderer);
    set("renderer-thread", thread);
    set("renderer-reason", reason);
  };

  session.events.on("status", status, signal);
  session.events.on("show", show, signal);
  session.events.on("drill", drill, signal);
  session.events.on("picture", picture, signal);
  session.events.on("state", state, signal);
  session.events.on("history", history, signal);
  session.events.on("ready", ready, signal);
  for (const { attributes } of PAGE_FEATURES) attributes?.(session, set, signal);
  for (const follow of [status, show, drill, state, history]) follow();
}
