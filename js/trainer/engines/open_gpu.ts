/** The page's GPU as a run's engine, where it is measured to be faster than WebAssembly: a software adapter is a GPU, too. */
import { GpuLearner, probe } from "../../compute";
import type { Modules } from "../games/modules";
import type { Compared } from "./comparison";
import type { Away, Beginning, Other } from "./faster";
import { GpuEngine, lacks, networkOf, sizesFor } from "./gpu";

/** `forced`: without measuring. Null in a browser without WebGPU, and where `wgsl` is "". */
export function pageGpu(modules: Modules, wgsl: string, forced: boolean): Other | null {
  const { spec } = modules;
  if (!navigator.gpu || !wgsl) return null;
  const open = async (beginning: Beginning): Promise<Away | null> => {
    const why = lacks(spec, beginning.settings);
    if (why && forced) throw new Error(why);
    const adapter = why ? null : await navigator.gpu.requestAdapter({ powerPreference: "high-performance" });
    if (!adapter) return null;
    const device = await deviceOf(adapter);
    try {
      const engine = await faster(device, `on this page's GPU (${nameOf(adapter)})`, beginning);
      if (!engine) device.destroy();
      return engine;
    } catch (error) {
      device.destroy();
      throw error;
    }
  };

  /** Learning alone is measured first: that costs a software adapter half a second. Then one whole update, after one that compiles. */
  const faster = async (device: GPUDevice, place: string, beginning: Beginning): Promise<Away | null> => {
    const { settings, hyper, weights, state, rates } = beginning;
    const { rows } = sizesFor(spec, settings);
    if (!forced && (await probe(device, networkOf(spec, settings, weights), rows, rates.learning)).wins === "wasm") return null;
    const engine = await GpuEngine.create(device, place, modules, spec, wgsl, beginning);
    if (!forced) {
      await engine.update(settings, hyper);
      const { agentSteps, rolloutMs, updateMs } = await engine.update(settings, hyper);
      if ((1000 * agentSteps) / (rolloutMs + updateMs) <= rates.whole) return null;
    }
    engine.load(weights);
    engine.restore(state);
    return engine;
  };
  return { open, forced };
}

/** The page's GPU beside WebAssembly. Rejects with an Error of one sentence where there is none. */
export async function comparedGpu(): Promise<Compared> {
  const adapter = await navigator.gpu?.requestAdapter({ powerPreference: "high-performance" });
  if (!adapter) throw new Error("this browser has no WebGPU here");
  const device = await deviceOf(adapter);
  return {
    name: `this page's GPU (${nameOf(adapter)})`,
    create: (network, sizes) => GpuLearner.create(device, { network, ...sizes }),
    close: () => device.destroy(),
  };
}

function deviceOf(adapter: GPUAdapter): Promise<GPUDevice> {
  const { maxBufferSize, maxStorageBufferBindingSize } = adapter.limits;
  const requiredFeatures = adapter.features.has("timestamp-query") ? (["timestamp-query"] as const) : [];
  return adapter.requestDevice({ requiredFeatures, requiredLimits: { maxBufferSize, maxStorageBufferBindingSize } });
}

function nameOf({ info }: GPUAdapter): string {
  return info.description || info.device || info.architecture || info.vendor || "unnamed";
}
