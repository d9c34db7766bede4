/** When the next policy takes over in a match, and how the old one fades into it. */

import type { DrillSpec, ShowTrait, Swap } from "../contract/protocol";
import { SHOW_DEFAULTS } from "../contract/tables";
import type { Policy } from "./network/policy";

export class PolicySwap {
  private when: Swap = SHOW_DEFAULTS.swap;
  private interval = 0; // ms between two swaps, at least
  private blend = 0; // ms of show time over which the old policy fades into the new

  private pending: Policy | null = null;
  private urgent = false; // the policy that plays means nothing any more
  private fading: Policy | null = null;
  private tick = 0; // of the last swap
  private time = -Infinity; // of the last swap, ms by now()
  private readonly mixed: Float32Array;

  constructor(
    private readonly spec: DrillSpec,
    private readonly now: () => number,
  ) {
    this.mixed = new Float32Array(spec.n_actions);
  }

  /** From now on; what is left out stays as it is. */
  set({ swap, swap_interval_ms, blend_ms }: Partial<Pick<ShowTrait, "swap" | "swap_interval_ms" | "blend_ms">>): void {
    this.when = swap ?? this.when;
    this.interval = swap_interval_ms ?? this.interval;
    this.blend = blend_ms ?? this.blend;
  }

  /** It waits for `take`; one that `replaces` what was learned before takes over at once. Throws an Error where it does not fit the drill. */
  offer(policy: Policy, replaces = false): void {
    this.fit(policy, "Reset the training.");
    this.pending = policy;
    this.urgent ||= replaces;
  }

  /** Whether a policy waits that may take over at such a moment. */
  due(when: Swap): boolean {
    if (this.pending === null || this.urgent) return this.pending !== null;
    return this.when === when && (when !== "now" || this.now() - this.time >= this.interval);
  }

  /** The policy that waited, which takes over from `policy` at `tick`. */
  take(policy: Policy | null, tick: number): Policy | null {
    this.fading = this.blend > 0 ? policy : null;
    this.tick = tick;
    this.time = this.now();
    this.urgent = false;
    const next = this.pending;
    this.pending = null;
    return next;
  }

  /** Nothing fades any more. */
  settle(): void {
    this.fading = null;
  }

  /** Throws an Error with what to do, `mend`, where a policy does not fit the drill. */
  fit(policy: Policy, mend: string): void {
    const [first, last] = [policy.layers[0], policy.layers[policy.layers.length - 1]];
    const { n_obs, n_actions } = this.spec;
    if (first === n_obs && last === n_actions + 1) return;
    throw new Error(
      `Policy version ${policy.version} was refused: the drill needs ${n_obs} inputs and ${n_actions + 1} outputs, ` +
        `got layers ${policy.layers.join("-")}. ${mend}`,
    );
  }

  /** The old policy while it fades. */
  old(tick: number): Policy | null {
    const share = this.share(tick);
    if (!(share >= 0 && share < 1)) this.fading = null;
    return this.fading;
  }

  /** Of the new policy, rising with show time. */
  private share(tick: number): number {
    return (tick - this.tick) / ((this.blend / 1000) * this.spec.tick_rate);
  }

  /** (1 - a) old + a fresh, where a is the new policy's share. */
  mix(old: Float32Array, fresh: Float32Array, tick: number): Float32Array {
    const a = this.share(tick);
    for (let k = 0; k < fresh.length; k++) this.mixed[k] = (1 - a) * old[k]! + a * fresh[k]!;
    return this.mixed;
  }
}
