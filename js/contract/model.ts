/** Types of an anywidget model: its synced traits, events and custom messages. */
import type {
  ConfigTrait,
  DrillTrait,
  LeagueRow,
  MetricsRow,
  PageToKernel,
  PanelName,
  PolicyTrait,
  QuotaTrait,
  SceneRow,
  ShowTrait,
  Snapshot,
  Status,
} from "./protocol";

export interface Traits {
  comm_id: string; // of the widget's model: a notebook's output names it
  drill: DrillTrait | null;
  policy: PolicyTrait | null;
  status: Exclude<Status, "disconnected">;
  status_text: string;
  error: string;
  paused: boolean; // the learner holds between two updates
  controls: PanelName[] | null; // the panels that are shown; null: all
  metrics: MetricsRow;
  league: LeagueRow[];
  scenes: SceneRow[];
  seat: QuotaTrait;
  rivals: Record<string, PolicyTrait | null>; // other policies for side 1, by name; null until one is chosen
  config: ConfigTrait;
  show: ShowTrait;
  snapshot: SavedSnapshot | null;
  seq: number;
}

/** `match` is the show's reset counter when it was taken: a reset from elsewhere makes the snapshot stale. */
export type SavedSnapshot = Snapshot & { match?: number };

type Handler = (...values: never[]) => void;

export interface Model {
  get<K extends keyof Traits>(name: K): Traits[K];
  set<K extends keyof Traits>(name: K, value: Traits[K]): void;
  save_changes(): void;
  send(message: PageToKernel, callbacks?: unknown, buffers?: ArrayBuffer[]): void;
  on(event: string, handler: Handler): void;
  off(event: string, handler: Handler): void;
  widget_manager?: unknown;
  /** A page saved without its kernel: nothing listens, and nobody ever will. */
  readonly standalone?: boolean;
  /** The trainer that such a page brings along, as text. */
  readonly trainer?: string;
  readonly trainedBy?: "kernel" | "page";
  /** Whether the page trains by itself: there is no kernel that could be asked for anything. */
  readonly byItself?: boolean;
  /** What to do when the kernel is gone, where that is not to run a cell again. */
  readonly restart?: string;
}

/** `model.on` that ends with `signal`. */
export function listen(model: Model, event: string, handler: Handler, signal: AbortSignal): void {
  if (signal.aborted) return;
  model.on(event, handler);
  signal.addEventListener("abort", () => model.off(event, handler), { once: true });
}
