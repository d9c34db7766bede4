/** Events of a session and their listeners. */
import type { Cursor, FromWorker, RendererKind } from "../contract/protocol";

export type ShowState = Omit<Extract<FromWorker, { type: "STATE" }>, "type" | "id">;
export type Ready = Omit<Extract<FromWorker, { type: "READY" }>, "type" | "id">;
export type MindState = Omit<Extract<FromWorker, { type: "MIND" }>, "type" | "id">;
type OutcomesState = Omit<Extract<FromWorker, { type: "OUTCOMES" }>, "type" | "id">;
type SceneState = Omit<Extract<FromWorker, { type: "SCENE" }>, "type" | "id">;

/** What a view can listen to. Everything but `state`, `ready` and `lost` says only "look again". */
export interface SessionEvents {
  drill: undefined;
  show: undefined;
  config: undefined;
  controls: undefined;
  status: undefined;
  history: undefined;
  league: undefined;
  rivals: undefined;
  journal: undefined;
  warning: string; // one sentence from the kernel, which its status line says, too
  notice: string; // one sentence from the kernel's log or the show; "" takes it back
  state: ShowState;
  ready: Ready;
  mind: MindState;
  outcomes: OutcomesState;
  scores: undefined;
  scenes: undefined;
  seat: undefined;
  lineup: undefined; // somebody else stands in for the policy, or nobody does
  map: undefined; // another map lies over the pitch, or its colours mean something else
  duel: undefined; // a person's match against the policy begins, continues or ends
  replay: undefined; // a saved replay begins in the live match's place, or is left
  undoable: undefined; // there is something else to undo, or nothing any more
  reward: { line: string; problem: string }; // whether a line can be paid for
  why: undefined; // somebody asks for the outcomes of the likeliest moves
  scene: SceneState;
  cursor: { view: number; cursor: Cursor };
  lost: { view: number; renderer?: RendererKind; reason: string };
  picture: { width: number; height: number }; // pictures of the kernel's show have this size now
}

/** Typed events whose handlers leave with an AbortSignal, so that a removed view forgets nothing. */
export class Events<Names extends object> {
  private readonly handlers = new Map<keyof Names, Set<(value: never) => void>>();

  on<K extends keyof Names>(name: K, handler: (value: Names[K]) => void, signal?: AbortSignal): void {
    if (signal?.aborted) return;
    const set = this.handlers.get(name) ?? new Set();
    this.handlers.set(name, set.add(handler as (value: never) => void));
    signal?.addEventListener("abort", () => set.delete(handler as (value: never) => void), { once: true });
  }

  emit<K extends keyof Names>(name: K, value: Names[K]): void {
    for (const handler of [...(this.handlers.get(name) ?? [])]) (handler as (value: Names[K]) => void)(value);
  }
}
