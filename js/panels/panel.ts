/** What a panel is: a function from a view to an element. Panels know the session, never one another. */
import type { Session } from "../session";

export interface View {
  readonly session: Session;
  /** The element to show full screen. */
  readonly stage: HTMLElement;
  /** Calls back at every change of theme, while the view lives. */
  themed(changed: () => void): void;
  /** Ends with the view; every listener and observer of a panel ends with it. */
  readonly signal: AbortSignal;
}

export interface Panel {
  /** Where it stands: beside the match (`play`), or with the learning (`learn`). */
  readonly area: "play" | "learn";
  readonly build: (view: View) => HTMLElement;
}
