/** The samples of a rollout on the device: observations [n, n_obs], masks of one bit an action, and eight planes [8, n]. */
import type { Kit } from "./kit";

export const PLANES = ["action", "log_prob", "value", "reward", "ended", "slot", "advantage", "returns"] as const;
type Plane = (typeof PLANES)[number];

/** Samples made elsewhere; what is left out is 0, and `mask` allows everything. */
export type GivenSamples = { observations: Float32Array; mask?: Uint32Array } & Partial<Record<Plane, Float32Array>>;

export class Samples {
  readonly observations: GPUBuffer;
  readonly masks: GPUBuffer;
  readonly planes: GPUBuffer;

  /** `words` of a mask; 0: every action is always allowed. */
  constructor(
    private readonly kit: Kit,
    readonly count: number,
    readonly nObs: number,
    readonly words: number,
  ) {
    this.observations = kit.zeros(count * nObs);
    this.masks = kit.zeros(count * words);
    this.planes = kit.zeros(count * PLANES.length);
  }

  /** Throws an Error where an array has another length than these samples. */
  write(given: GivenSamples): void {
    const planes = new Float32Array(this.count * PLANES.length);
    PLANES.forEach((name, k) => {
      const values = given[name];
      if (values) planes.set(fitting(values, this.count, name), k * this.count);
    });
    this.kit.write(this.planes, planes);
    this.kit.write(this.observations, fitting(given.observations, this.count * this.nObs, "observations"));
    if (this.words) this.kit.write(this.masks, fitting(given.mask ?? new Uint32Array(this.count * this.words).fill(-1), this.count * this.words, "mask"));
  }
}

function fitting<A extends Float32Array | Uint32Array>(values: A, length: number, name: string): A {
  if (values.length !== length) throw new Error(`Samples: wanted ${length} numbers as ${name}, got ${values.length}.`);
  return values;
}
