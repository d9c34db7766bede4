/** Types of a panel: builders from a view to an element, one for each place where it stands, and the parts of the session that it may use. */
import type { Model } from "../contract/model";
import type { TabName } from "../contract/protocol";
import type { Duel } from "../session/duel";
import type { Session } from "../session/session";
import type { Undoing } from "../session/undoing";

/** What panels may use of a session. */
export interface PanelSession extends Pick<Session, Read | Do> {
  readonly model: Pick<Model, "get" | "restart" | "standalone" | "trainedBy" | "byItself">;
  readonly kernel: Pick<Session["kernel"], "connected" | "send">;
  readonly history: Pick<Session["history"], "rows">;
  readonly journal: Pick<Session["journal"], "lines" | "tick">;
}
type Read =
  | "id"
  | "events"
  | "link"
  | "alone"
  | "claimed"
  | "elsewhere"
  | "state"
  | "show"
  | "status"
  | "facing"
  | "live"
  | "pictures"
  | "taken"
  | "thoughts"
  | "scores";
type Do = ("setShow" | "step" | "skipToGoal" | "resetMatch" | "post") | ("train" | "nextUpdate" | "drafts");

/** Whether a part of a panel can be seen; one in a tab only while the tab is open. What is hidden asks for nothing. */
export interface Shown {
  readonly now: boolean;
  /** Calls back at every change, while the view lives. */
  follow(changed: () => void): void;
}

export interface PanelView {
  readonly session: PanelSession;
  readonly duel: Duel;
  readonly undoing: Undoing;
  readonly shown: Shown;
  /** Opens a tab of this view where it has one. */
  open(tab: TabName): void;
  /** Calls back at every change of theme, while the view lives. */
  themed(changed: () => void): void;
  /** Ends with the view; every listener and observer of a panel ends with it. */
  readonly signal: AbortSignal;
}

/**
 * Where parts of panels stand: with Train (`hero`), in the line below the match (`line`), in the fold for experiments (`lab`), on the
 * pitch (`chips`), in the strip below it (`strip`), or in the tab that TABS names (`tab`).
 */
export type Place = "hero" | "line" | "lab" | "chips" | "strip" | "tab";

export interface Panel {
  /** Whether it has anything to show; it always has where this is left out. Asked again whenever the configuration or the drill changes. */
  readonly applies?: (session: PanelSession) => boolean;
  /** What its tab is called, where that depends on the run. */
  readonly title?: (session: PanelSession) => string;
  readonly parts: Readonly<Partial<Record<Place, (view: PanelView) => HTMLElement>>>;
}
