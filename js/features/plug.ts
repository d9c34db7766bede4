/**
 * The plug: what a feature brings. It has two halves, because page and show worker are two bundles: `features/NAME/page.ts` and
 * `features/NAME/worker.ts`, of which a feature may have one alone. `page.ts` and `worker.ts` beside this file list them.
 *
 * Folder `features`: one folder per feature, whole: code, panels, style and tests. Core imports none of them, and they import no other.
 */
import type { Model } from "../contract/model";
import type { PageAttribute, PanelName, ToPage, ToWorker } from "../contract/protocol";
import type { Decider, Elsewhere, Substitute } from "../match/decider";
import type { Policy } from "../match/network/policy";
import type { Show } from "../match/show";
import type { Layer } from "../mind/layer";
import type { Panel, PanelSession } from "../panels/panel";
import type { LinkKind } from "../session/link";

/** What a feature brings to the page. Its style sheets are found by their folder (js/build.mjs). */
export interface PageFeature {
  /** Between its panels, the kernel and the show worker; one per session. */
  readonly link?: LinkKind;
  /** What stands between the kernel's model and the session; one per model, before there is a session. */
  readonly between?: new (
    base: Model,
  ) => Between;
  readonly panels?: Readonly<Partial<Record<PanelName, Panel>>>;
  /** What the colours over the pitch mean while its map lies there, else null. Asked again at the event `map`. */
  readonly legend?: (session: PanelSession) => Legend | null;
  /** Keeps attributes `data-NAME` of the page's root, up to `signal`. */
  readonly attributes?: (session: PanelSession, set: (name: PageAttribute, value: string) => void, signal: AbortSignal) => void;
}

export interface Between {
  /** What the session takes for the kernel's model. */
  readonly model: Model;
  /** Whether the kernel is there, at each change. */
  kernelIs(connected: boolean): void;
  /** Stands above the match, up to `signal`; `set` sets an attribute `data-NAME` of the page's root. */
  show(set: (name: PageAttribute, value: string) => void, signal: AbortSignal): HTMLElement;
  dispose(): void;
}

/** The meaning of the colours of a map. */
export interface Legend {
  readonly text: string;
  readonly scale: string; // what the colours mean
  readonly ends: readonly [bad: string, good: string];
  readonly middle: string; // what stands at the line between the colours
}

/** What a feature brings to the show worker. */
export interface ShowFeature {
  /** Its part in a live match, which begins and ends with that. */
  begin(match: LiveMatch): MatchPart;
}

export interface LiveMatch {
  readonly show: Show;
  /** Sends the page a message of this match's widget. */
  readonly post: ToPage;
}

export interface MatchPart {
  readonly decider?: Decider;
  readonly elsewhere?: Elsewhere;
  readonly substitute?: Substitute;
  readonly layer?: Layer;
  /** Does what a message says; null: it is not its own, true: the page gets the result at once, as `report` does. */
  receive?(message: ToWorker): boolean | null;
  /** The match has taken a policy, which is going to play. */
  policyCame?(policy: Policy, replaces: boolean): void;
  /** Tells the page what is new; after each STATE. */
  report?(): void;
  /** The same after each frame: what cannot wait. */
  frame?(): void;
}
