/** Which is faster here, WebGPU or WebAssembly: measured, because a software adapter is a GPU by name only. */
import { GpuLearner } from "./learner";
import type { Hyper } from "./update";

const LAYERS = [28, 64, 64, 31]; // the Ball Drill's
const SAMPLES = 8192;
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

/** Learns from 8,192 made-up samples again and again for about `seconds`, after one update that compiles. `wasm`: samples/s of WebAssembly. */
export async function probe(device: GPUDevice, wasm: number, seconds = 0.5): Promise<Probed> {
  const floats = LAYERS.slice(1).reduce((sum, width, k) => sum + (LAYERS[k]! + 1) * width, 0);
  const wave = (length: number, scale: number) => Float32Array.from({ length }, (_, k) => scale * Math.sin(1.7 * k + 0.3));
  const network = { layers: LAYERS, activation: "tanh" as const, data: wave(floats, 0.1) };
  const learner = await GpuLearner.create(device, { network, samples: SAMPLES, minibatchSize: SAMPLES / 4, epochs: 1 });
  try {
    const log_prob = new Float32Array(SAMPLES).fill(-Math.log(30));
    const action = Float32Array.from({ length: SAMPLES }, (_, k) => k % 30);
    learner.write({ observations: wave(SAMPLES * LAYERS[0]!, 1), action, log_prob, advantage: wave(SAMPLES, 1), returns: wave(SAMPLES, 0.5) });
    await learner.update(HYPER);
    const begin = performance.now();
    let updates = 0;
    let passed = 0;
    do {
      await learner.update(HYPER);
      updates += 1;
      passed = (performance.now() - begin) / 1000;
    } while (passed < seconds);
    const webgpu = (updates * SAMPLES) / passed;
    return { wins: webgpu > wasm ? "webgpu" : "wasm", webgpu, wasm };
  } finally {
    learner.destroy();
  }
}
