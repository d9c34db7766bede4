/** What a panel is: a function from a view to an element. Panels know the session, never one another. */
import type { Session } from "../session/session";

export interface View {
  readonly session: Session;
  /** Calls back at every change of theme, while the view lives. */
  themed(changed: () => void): void;
  /** Ends with the view; every listener and observer of a panel ends with it. */
  readonly signal: AbortSignal;
}

export type Area = "play" | "learn" | "more";

export interface Panel {
  /** Where it stands: below the match (`play`), with the learning (`learn`), or after both (`more`). */
  readonly area: Area;
  readonly build: (view: View) => HTMLElement;
}
