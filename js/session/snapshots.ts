/** Snapshots of the match as the kernel keeps them, so that a page that is loaded again continues where this one was. */
import type { Model, SavedSnapshot } from "../contract/model";
import type { Snapshot } from "../contract/protocol";
import type { SharedShow } from "./shared_show";

export class Snapshots {
  private unsaved: Snapshot | null = null;

  /** `save` sends the traits. */
  constructor(
    private readonly model: Pick<Model, "get" | "set">,
    private readonly choice: SharedShow,
    private readonly save: () => void,
  ) {}

  /** The newest one that the kernel has; null where the match never began or was reset since. */
  get saved(): SavedSnapshot | null {
    const saved = this.model.get("snapshot");
    if (!saved || !(saved.tick > 0) || !saved.state) return null;
    return saved.match === undefined || saved.match === this.choice.shared.match ? saved : null;
  }

  add(snapshot: Snapshot): void {
    this.unsaved = snapshot;
    this.flush();
  }

  /** Saves what could not be saved yet: a duel is nobody else's. */
  flush(): void {
    if (!this.unsaved || this.choice.alone) return;
    this.model.set("snapshot", { ...this.unsaved, match: this.choice.shared.match });
    this.unsaved = null;
    this.save();
  }
}
