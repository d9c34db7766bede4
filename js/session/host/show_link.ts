/** What the show host is set to: the drill, the policies and the settings of the show. Sends what differs from what it has. */

import { bytesOf } from "../../contract/bytes";
import type { Model, SavedSnapshot } from "../../contract/model";
import { ownOpponent, scriptsOf } from "../../contract/opponents";
import type { ShowTrait, ToWorker } from "../../contract/protocol";
import type { Events, SessionEvents } from "../events";
import type { Facing } from "../facing";

interface Ends {
  readonly id: string;
  readonly model: Pick<Model, "get">;
  readonly events: Events<SessionEvents>;
  readonly show: ShowTrait;
  readonly facing: Pick<Facing, "opponent" | "met" | "rivals">;
  post(message: ToWorker, transfer?: Transferable[]): void;
}

export class ShowLink {
  private rules = ""; // of the drill that the host was given
  private shown: ShowTrait;
  private run: number | undefined; // of the policy that was sent last

  constructor(private readonly ends: Ends) {
    this.shown = ends.show;
  }

  /**
   * Another drill, if it is one. The host keeps what comes before the first drill until it comes, so the match appears as it should be,
   * all at once. `begun` says what else a show has to know.
   */
  begin(saved: SavedSnapshot | null, begun: () => void): void {
    const { id, model, show, events } = this.ends;
    const drill = model.get("drill");
    if (!drill) return;
    const rules = drill.spec.rules_hash + drill.javascript; // other rewards are other code of the same rules
    if (rules === this.rules) return;
    const another = this.rules !== "";
    this.rules = rules;
    if (another) this.ends.post({ type: "DRILL", id, ...drill });
    this.ends.post({ type: "RESET_SHOW", id, seed: show.seed });
    this.send(show, null);
    if (saved?.rules_hash === drill.spec.rules_hash) this.ends.post({ type: "RESTORE", id, snapshot: saved });
    begun();
    this.sendPolicy();
    if (!another) this.ends.post({ type: "DRILL", id, ...drill });
    events.emit("drill", undefined);
  }

  sendPolicy(): void {
    const policy = this.ends.model.get("policy");
    if (!policy?.data?.byteLength) return;
    const data = bytesOf(policy.data).slice().buffer; // a copy may be transferred without taking the trait's own away
    const { version, layers, activation } = policy;
    const replaces = policy.run !== this.run;
    this.run = policy.run;
    this.ends.post({ type: "POLICY", id: this.ends.id, version, layers, activation, data, replaces }, [data]);
  }

  /** The settings may be others; `asked`: somebody asks for a match, before the host hears of it. */
  follow(asked: () => void): void {
    const before = this.shown;
    this.shown = this.ends.show;
    if (before.mode !== this.shown.mode || before.match !== this.shown.match) asked();
    this.send(this.shown, before);
    this.ends.events.emit("show", undefined);
  }

  rivalsChanged(): void {
    const { rivals, opponent } = this.ends.facing;
    if (rivals[opponent]) this.sendMode();
    this.ends.events.emit("rivals", undefined);
  }

  /** What differs from `before`; everything where there is no before. */
  private send(now: ShowTrait, before: ShowTrait | null): void {
    const { id, model } = this.ends;
    const differs = (...keys: (keyof ShowTrait)[]) => keys.some((key) => now[key] !== before?.[key]);
    if (differs("action_repeat", "swap", "swap_interval_ms", "blend_ms")) {
      const { swap, swap_interval_ms, blend_ms } = now;
      const action_repeat = now.action_repeat || (model.get("drill")?.spec.action_repeat ?? 1);
      this.ends.post({ type: "SHOW_CONFIG", id, action_repeat, swap, swap_interval_ms, blend_ms });
    }
    if (differs("mode", "opponent")) this.sendMode();
    if (differs("speed")) this.ends.post({ type: "SET_SIM_SPEED", id, multiplier: now.speed });
    if (before && differs("match")) this.ends.post({ type: "RESET_SHOW", id, seed: now.seed });
    if (differs("playing")) this.ends.post({ type: now.playing ? "PLAY" : "PAUSE", id });
  }

  /**
   * Who plays. An opponent that is a network goes before; until its weights are here, everybody plays on as before in the sandbox. Other
   * modes begin at once, and nothing waits for an opponent that is gone: the drill's own takes its place, against a person the policy.
   */
  private sendMode(): void {
    const { id, model, show } = this.ends;
    const { opponent, met, rivals } = this.ends.facing;
    const rival = rivals[opponent];
    if (rival === null && show.mode === "sandbox") return;
    if (rival) {
      const { version, layers, activation } = rival;
      const data = bytesOf(rival.data).slice().buffer;
      this.ends.post({ type: "RIVAL", id, name: opponent, version, layers, activation, data }, [data]);
    }
    const drill = model.get("drill")?.spec;
    const named = rival || scriptsOf(drill).includes(opponent) ? opponent : ownOpponent(drill);
    this.ends.post({ type: "SET_MODE", id, mode: show.mode, opponent: show.mode === "human_vs_ai" && !met ? "" : named });
  }
}
