/** The two WebAssembly modules of a trainer, on one memory: the drill's verbs, reached through the function table, and the learner's functions. */
import type { DrillSpec } from "../../contract/protocol";
import { countWords, placesOf } from "../../contract/state";
import type { ModuleBytes } from "../../contract/training";
import { ENTRY_INDICES } from "../ppo/plan";
import { PAIR_ENTRIES, RECORDS, STACK_TOP } from "../tables";
import { type Block, Heap } from "./heap";
import { Kernels, type RecordValues } from "./kernels";

type Verb = (tile: bigint, argument?: bigint) => void;
/** `i8x16.splat` and `i8x16.popcnt` in a function: valid only where the browser has vectors of 128 bits. */
const SIMD_PROBE = new Uint8Array([
  ...[0, 97, 115, 109, 1, 0, 0, 0], // magic number, version
  ...[1, 5, 1, 96, 0, 1, 123, 3, 2, 1, 0], // one function: nothing to v128
  ...[10, 10, 1, 8, 0, 65, 0, 253, 15, 253, 98, 11], // i32.const 0, i8x16.splat, i8x16.popcnt
]);
const NO_SIMD =
  "This browser's WebAssembly has no SIMD, which training in a page needs: use Chrome 91, Firefox 89 or Safari 16.4, or newer. The match still plays.";

export class Modules extends Kernels {
  /** i64 table indices of the drill's verbs, in the order of `CpuGame.verbs`; 0 is nobody's. */
  readonly verbs: Block;
  readonly verbCount: number;
  /** Index of the mask's verb, 0 for a drill without masks. */
  readonly maskVerb: number;
  readonly tileWords: number;
  private readonly resetVerb: Verb;

  private constructor(
    readonly spec: DrillSpec,
    drill: WebAssembly.Exports,
    learner: WebAssembly.Exports,
    table: WebAssembly.Table,
    heap: Heap,
  ) {
    super(heap, learner);
    for (const [k, name] of PAIR_ENTRIES.entries()) table.set(ENTRY_INDICES[k]!, learner[name]);
    const names = Object.keys(drill);
    this.verbCount = names.length;
    this.verbs = heap.i64(
      names.map((name) => {
        const index = table.grow(1);
        table.set(index, drill[name]);
        return index;
      }),
    );
    this.maskVerb = spec.masked ? names.indexOf("mask") : 0;
    this.resetVerb = drill.reset as Verb;
    this.tileWords = countWords(spec.fields);
  }

  /** Throws an Error of one sentence for bytes that are no such modules. */
  static async load(spec: DrillSpec, bytes: ModuleBytes): Promise<Modules> {
    if (!WebAssembly.validate(SIMD_PROBE)) throw new Error(NO_SIMD);
    const heap = new Heap();
    const table = new WebAssembly.Table({ element: "anyfunc", initial: 1 + PAIR_ENTRIES.length });
    const stack = new WebAssembly.Global({ value: "i32", mutable: true }, STACK_TOP);
    const { cos, exp, log, pow } = Math;
    const env = { memory: heap.wasm, __stack_pointer: stack, __indirect_function_table: table, cos, exp, log, pow };
    const load = async (which: keyof ModuleBytes, wanted: readonly string[]) => {
      let exports: WebAssembly.Exports;
      try {
        ({ exports } = (await WebAssembly.instantiate(bytes[which], { env })).instance);
      } catch (error) {
        throw new Error(`The ${which}'s WebAssembly module in this page cannot be used: ${(error as Error).message}`);
      }
      const missing = wanted.find((name) => typeof exports[name] !== "function");
      if (missing) throw new Error(`The ${which}'s WebAssembly module in this page lacks the function ${missing}: it belongs to another version.`);
      return exports;
    };
    const drill = await load("drill", ["reset", "decide", "tick", "observe", "terms", "status", "random"]);
    const learner = await load("learner", [...Object.keys(RECORDS), ...PAIR_ENTRIES]);
    return new Modules(spec, drill, learner, table, heap);
  }

  get tileBytes(): number {
    return this.tileWords * 64;
  }

  /** A new episode in one lane of the tile at an address. */
  reset(tile: number, lane: number): void {
    this.resetVerb(BigInt(tile), BigInt(lane));
  }

  /** A new episode in all lanes of tiles that lie at an address. */
  resetAll(tiles: number, count: number): void {
    for (let tile = 0; tile < count; tile++) for (let lane = 0; lane < 16; lane++) this.reset(tiles + tile * this.tileBytes, lane);
  }

  /**
   * Starts the games of fresh tiles as Python does: an episode with the keys 0, 1, ..., which moves their counters, then one with these keys.
   */
  begin(tiles: Block, keys: Uint32Array, practice: number): void {
    const { spec, tileWords } = this;
    const count = keys.length / 16;
    const put = (field: string, value: (k: number) => number) => {
      const word = placesOf(spec.fields)[field]! * 16;
      const words = tiles.u32;
      for (let k = 0; k < keys.length; k++) words[(k >> 4) * tileWords * 16 + word + (k & 15)] = value(k);
    };
    put("rng_key", (k) => k);
    this.resetAll(tiles.at, count);
    put("rng_key", (k) => keys[k]!);
    put("practice", () => practice);
    this.resetAll(tiles.at, count);
  }

  /** Floats of scratch memory for `play` and `matches`, without a network's: `scratch_floats` of dshq_kernels/play/loops.py. */
  scratchFloats(length: number): number {
    const { sides, n_obs, n_actions, terms, masked } = this.spec;
    const masks = masked ? 2 * sides * n_actions : 0;
    return 16 * (masks + 2 * sides * n_obs + (4 * sides + 1) * terms.length + 6 * length + 8 + 2 * n_actions + 6) + 64;
  }

  /** The fields of a record that describe the game. */
  get game(): RecordValues {
    const { sides, n_obs, time_limit, action_repeat } = this.spec;
    return {
      verbs: this.verbs.at,
      n_verbs: this.verbCount,
      tile_bytes: this.tileBytes,
      sides,
      n_obs,
      time_limit,
      action_repeat,
      mask_verb: this.maskVerb,
    };
  }
}
