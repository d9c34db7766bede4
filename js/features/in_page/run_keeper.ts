/** Keeps a run in the browser now and then: when a file of it is wanted, and what becomes of that. */
import type { DrillSpec } from "../../contract/protocol";
import type { Place } from "./storage";

const FIRST_MS = 2_000; // after training began
const PAUSE_MS = 5_000; // then at least this often

export class RunKeeper {
  private at = Number.POSITIVE_INFINITY; // ms, when it is to be kept next
  private asked = false;
  private refused = false;

  /** `refuse` is called once for a run of which the browser keeps nothing. */
  constructor(
    private readonly spec: Pick<DrillSpec, "name" | "rules_hash">,
    private readonly place: Place,
    private readonly refuse: () => void = () => {},
  ) {}

  /** A run has begun to train. */
  begin(): void {
    if (Number.isFinite(this.at)) return;
    this.at = performance.now() + FIRST_MS;
    this.asked = this.refused = false;
  }

  end(): void {
    this.at = Number.POSITIVE_INFINITY;
  }

  /** Whether its file should be asked for now; true once each time. */
  due(): boolean {
    if (this.asked || performance.now() < this.at) return false;
    this.asked = true;
    this.at = performance.now() + PAUSE_MS;
    return true;
  }

  keep({ file, version }: { file: Uint8Array; version: number }): void {
    this.asked = false;
    if (version > 0) void this.put({ drill: this.spec.name, version, savedAt: Date.now(), file });
  }

  private async put(run: Parameters<Place["keep"]>[1]): Promise<void> {
    if ((await this.place.keep(this.spec.rules_hash, run)) || this.refused) return;
    this.refused = true;
    this.refuse();
  }
}
