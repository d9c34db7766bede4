/** Which is faster here, WebGPU or WebAssembly: measured, because a software adapter is a GPU by name only. */
import { GpuLearner } from "./learner";
import type { NetworkDescription } from "./network";
import type { Hyper } from "./update";

const SAMPLES = 4096; // at most
const FEW = 256;
const HYPER: Hyper = {
  learning_rate: 1e-3,
  clip_epsilon: 0.2,
  clip_value: false,
  value_coef: 0.5,
  entropy_coef: 0.003,
  max_grad_norm: 0.5,
  target_kl: 0,
  normalize_advantages: true,
};

export interface Probed {
  wins: "webgpu" | "wasm";
  webgpu: number; // samples learned from a second
  wasm: number; // as it was given
}

/**
 * Learns from 4,096 made-up samples again and again for about `seconds`, with this network and minibatches of this size (4,096 where they are
 * larger). First from 256: a device that takes longer for them than WebAssembly for all has lost. `wasm`: samples/s by which WebAssembly learns.
 */
export async function probe(device: GPUDevice, network: NetworkDescription, minibatchSize: number, wasm: number, seconds = 0.3): Promise<Probed> {
  const few = await rateOf(device, network, FEW, minibatchSize, 0);
  const lost = FEW / few > SAMPLES / wasm;
  const webgpu = lost ? few : await rateOf(device, network, SAMPLES, minibatchSize, seconds);
  return { wins: !lost && webgpu > wasm ? "webgpu" : "wasm", webgpu, wasm };
}

/** Samples a second, from one update at least, after one that compiles. */
async function rateOf(device: GPUDevice, network: NetworkDescription, most: number, minibatchSize: number, seconds: number): Promise<number> {
  const rows = Math.min(minibatchSize, most);
  const samples = rows * Math.floor(most / rows);
  const { layers } = network;
  const [observations, actions] = [layers[0]!, layers.at(-1)! - 1];
  const wave = (length: number, scale: number) => Float32Array.from({ length }, (_, k) => scale * Math.sin(1.7 * k + 0.3));
  const learner = await GpuLearner.create(device, { network, samples, minibatchSize: rows, epochs: 1 });
  try {
    const log_prob = new Float32Array(samples).fill(-Math.log(actions));
    const action = Float32Array.from({ length: samples }, (_, k) => k % actions);
    learner.write({ observations: wave(samples * observations, 1), action, log_prob, advantage: wave(samples, 1), returns: wave(samples, 0.5) });
    await learner.update(HYPER);
    const begin = performance.now();
    let updates = 0;
    let passed = 0;
    do {
      await learner.update(HYPER);
      updates += 1;
      passed = (performance.now() - begin) / 1000;
    } while (passed < seconds);
    return (updates * samples) / passed;
  } finally {
    learner.destroy();
  }
}
