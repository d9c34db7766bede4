/** For tests/algorithms/gate/test_gate_page.py: judgements of js/features/gate/gate.ts. */
import { CHUNKS, Gate, type Territory } from "../gate";
import type { GateSettings } from "../messages";

/** A state as Python wrote it. */
interface Given {
  workers: number[];
  protectors: number[];
  queen_energy: number;
  spawned_at: number[];
  ticks: number;
  settings: GateSettings;
  chunk: number;
  kind: number;
}

export function judgeStates(states: Given[]) {
  return states.map(({ workers, protectors, queen_energy, spawned_at, ticks, settings, chunk, kind }) => {
    const state = {
      worker_chunk: Int32Array.from(workers),
      protector_chunk: Int32Array.from(protectors),
      queen_energy: Float32Array.of(queen_energy),
      spawned_at: Int32Array.from(spawned_at),
      ticks: Int32Array.of(ticks),
    } as Partial<Territory> as Territory;
    const gate = new Gate(settings);
    const judged = Array.from({ length: 2 * CHUNKS }, (_, at) => {
      gate.judge(state, at % CHUNKS, Math.floor(at / CHUNKS));
      return { expected: gate.expected, signal: gate.signal };
    });
    gate.judge(state, chunk, kind);
    const { components, expected, signal, sends } = gate;
    return { components: [...components], expected, signal, sends, all: judged.map((one) => one.expected), signals: judged.map((one) => one.signal) };
  });
}
