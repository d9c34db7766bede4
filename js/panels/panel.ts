/** Types of a panel: a function from a view to an element, and the parts of the session that it may use. */
import type { Model } from "../contract/model";
import type { Session } from "../session/session";

/** What panels may use of a session. */
export interface PanelSession extends Pick<Session, Read | Do> {
  readonly model: Pick<Model, "get" | "standalone">;
  readonly kernel: Pick<Session["kernel"], "connected" | "send">;
  readonly history: Pick<Session["history"], "rows">;
  readonly journal: Pick<Session["journal"], "lines" | "tick">;
}
type Read =
  | "id"
  | "events"
  | "gate"
  | "search"
  | "dream"
  | "state"
  | "show"
  | "status"
  | "opponent"
  | "rivals"
  | "pictures"
  | "taken"
  | "past"
  | "back"
  | "mind"
  | "map"
  | "scores";
type Do =
  | ("setShow" | "step" | "skipToGoal" | "resetMatch" | "goBack" | "post")
  | ("train" | "nextUpdate" | "drafts" | "setHyper")
  | ("watch" | "setMap" | "choosePlayer");

export interface PanelView {
  readonly session: PanelSession;
  /** Calls back at every change of theme, while the view lives. */
  themed(changed: () => void): void;
  /** Ends with the view; every listener and observer of a panel ends with it. */
  readonly signal: AbortSignal;
}

export type Area = "play" | "learn" | "more";

export interface Panel {
  /** Where it stands: below the match (`play`), with the learning (`learn`), or after both (`more`). */
  readonly area: Area;
  /** Whether it has anything to show; it always has where this is left out. Asked again whenever the configuration changes. */
  readonly applies?: (session: PanelSession) => boolean;
  readonly build: (view: PanelView) => HTMLElement;
}
