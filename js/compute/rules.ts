/** The kernels of a drill's rules (dshq_kernels/backends/wgsl.py) on a device, and games that they run. */
import type { DrillSpec } from "../contract/protocol";
import { countWords, placesOf } from "../contract/state";
import { groupsOf, type Kit, type Step } from "./kit";

const KINDS: GPUBufferBindingType[] = ["uniform", "storage", "storage", "storage"]; // what every kernel binds

/** The state of some games, and launches on it. */
interface RunningGames {
  state: GPUBuffer; // u32 [words, count]
  step(kernel: string, floats: GPUBuffer, whole: GPUBuffer): Step;
}

export class Rules {
  private constructor(
    private readonly kit: Kit,
    readonly spec: DrillSpec,
    private readonly layout: GPUBindGroupLayout,
    private readonly pipelines: ReadonlyMap<string, GPUComputePipeline>,
  ) {}

  /** Compiles the `wanted` kernels. Throws an Error where the device refuses one. */
  static async compile(kit: Kit, wgsl: string, spec: DrillSpec, wanted: readonly string[]): Promise<Rules> {
    const { device } = kit;
    const entries = KINDS.map((type, binding) => ({ binding, visibility: GPUShaderStage.COMPUTE, buffer: { type } }));
    const bound = device.createBindGroupLayout({ entries });
    const layout = device.createPipelineLayout({ bindGroupLayouts: [bound] });
    const module = device.createShaderModule({ code: wgsl, label: spec.name });
    const compile = (entryPoint: string) => device.createComputePipelineAsync({ layout, compute: { module, entryPoint } });
    const pipelines = await Promise.all(wanted.map(async (name) => [name, await compile(name)] as const));
    return new Rules(kit, spec, bound, new Map(pipelines));
  }

  /** Games in training's own starts in which no episode has begun, one for each of these seeds. */
  games(keys: Uint32Array): RunningGames {
    const count = keys.length;
    const at = placesOf(this.spec.fields);
    const words = countWords(this.spec.fields);
    const begun = new Uint32Array(words * count);
    for (let game = 0; game < count; game++) {
      begun[at.rng_key! * count + game] = keys[game]!;
      begun[at.practice! * count + game] = 1;
    }
    const state = this.kit.filled(begun);
    const size = this.kit.uniform([count, this.spec.action_repeat]);
    const step = (kernel: string, floats: GPUBuffer, whole: GPUBuffer) =>
      this.kit.bind(this.pipelines.get(kernel)!, this.layout, { 0: size, 1: state, 2: floats, 3: whole }, groupsOf(count));
    return { state, step };
  }
}
