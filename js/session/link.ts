/** A link: the part of a feature that stands between panels, kernel and show worker. A session has one of each kind. */
import type { Model } from "../contract/model";
import type { Bytes, ConfigValue, FromWorker, KernelToPage, ShowTrait, ToWorker } from "../contract/protocol";
import type { Events, SessionEvents } from "./events";
import type { History } from "./history";
import type { KernelLink } from "./kernel/kernel_link";
import type { Thoughts } from "./thoughts";

/** What a link may use of a session. What it does at an event it does before any panel: it listens first. */
export interface Ends {
  readonly id: string;
  readonly model: Pick<Model, "get">;
  readonly kernel: Pick<KernelLink, "send">;
  readonly history: Pick<History, "rows">;
  readonly events: Events<SessionEvents>;
  readonly show: ShowTrait;
  readonly live: boolean;
  readonly thoughts: Pick<Thoughts, "map" | "setMap">;
  setShow(change: Partial<ShowTrait>): void;
  post(message: ToWorker): void;
}

/** Somebody who plays in the place of the policy: the name, and what that is. */
export interface StandIn {
  readonly name: string;
  readonly title: string;
}

export interface Link {
  /** Whether it has a say in every decision of the policy: nothing else may decide for it. */
  readonly claims?: boolean;
  /** Whether the policy plays in the kernel, and side 0 only. */
  readonly elsewhere?: boolean;
  /** Who plays side 1 in the place of the policy; null: nobody does. */
  readonly standIn?: StandIn | null;
  /** A show begins: it knows nothing of what was said before. */
  begin?(): void;
  /** The kernel is back: what was under way is lost. */
  again?(): void;
  /** Does what a message of the show worker says; whether it is the link's. */
  receive?(message: FromWorker): boolean;
  /** The same of a message of the kernel. */
  receiveFromKernel?(message: KernelToPage, bytes: Bytes | undefined): boolean;
  /** Changes a setting of the run, by its key in messages; whether it is the link's own. */
  takes?(key: string, value: ConfigValue): boolean;
}

/** The class of a link, by which panels ask a session for it. Ends with `signal`. */
export type LinkKind<L extends Link = Link> = new (ends: Ends, signal: AbortSignal) => L;
