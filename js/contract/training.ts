/**
 * Messages between the page and its trainer, a worker (js/trainer/worker.ts), after `kernel_to_learner` and `learner_to_kernel` of
 * contract/protocol.py. Runs travel as the bytes of `.dshq` files: only the worker reads and writes them.
 */
import { sha256 } from "@noble/hashes/sha2.js";
import { bytesToHex } from "@noble/hashes/utils.js";
import type { Activation, ConfigValue, DrillSpec, LeagueRow, MetricsRow, Success } from "./protocol";

/** A trait's or a file's hyper-parameters: tables as text or as objects. */
export type Values = Record<string, ConfigValue | Record<string, number>>;

/** Bytes of both WebAssembly modules. */
export interface ModuleBytes {
  learner: ArrayBuffer;
  drill: ArrayBuffer;
}

export interface TrainedPolicy {
  version: number;
  step: number; // agent steps
  layers: number[];
  activation: Activation;
  weights: Float32Array; // flat
}

/** How often side 0 wins from a scene; `key` is `sceneKey` of it. */
export type Measured = Success & { key: string };

export type ToTrainer =
  | {
      type: "START";
      spec: DrillSpec;
      modules: ModuleBytes;
      values: Values;
      file: Uint8Array | null; // a run to continue exactly
      policy: TrainedPolicy | null; // else one to continue with a fresh optimiser; null, or of another network: begin untrained
      metrics: MetricsRow;
      paused: boolean;
      asked: number; // updates to make while paused
      scenes: readonly Uint32Array[]; // a game's words each
      wgsl: string; // of TrainerPackage
      prefer: "" | "wasm" | "webgpu"; // "": whichever is measured to be faster; the others are for tests
      compare: number; // at this interval, updates are computed by WebAssembly and on the GPU, and compared; 0: none
      lanes: MessagePort[]; // to threads that play the games; none: they are played by the one that learns
    }
  | { type: "STOP" }
  | { type: "SET_HYPER"; key: string; value: ConfigValue }
  | { type: "PAUSE_TRAINING" }
  | { type: "RESUME_TRAINING" }
  | { type: "NEXT_UPDATE" }
  | { type: "SAVE" } // answered by SAVED
  | { type: "SCENES"; scenes: readonly Uint32Array[] }
  // to a worker that trains nothing itself
  | { type: "LANE_PORT"; port: MessagePort } // play games for the run behind it
  | { type: "FRESH"; spec: DrillSpec; modules: ModuleBytes; values: Values } // answered by POLICY, an untrained one
  | { type: "PACK"; spec: DrillSpec; values: Values; policy: TrainedPolicy; metrics: MetricsRow } // answered by SAVED
  | { type: "READ"; spec: DrillSpec; file: Uint8Array; name: string }; // answered by FILE

export type FromTrainer =
  | { type: "BEAT" } // it rests, and is there
  | { type: "PHASE"; text: string } // it trains, and where; again when that changes
  | ({ type: "POLICY" } & TrainedPolicy)
  | { type: "METRICS"; values: MetricsRow }
  | { type: "LEAGUE"; rows: LeagueRow[] }
  | { type: "SCENES"; rows: Measured[] }
  | { type: "WARNING"; text: string }
  | { type: "SAVED"; version: number; file: Uint8Array }
  | { type: "STOPPED"; version: number; file: Uint8Array }
  | { type: "FILE"; exact: boolean; policy: TrainedPolicy; values: Values; metrics: MetricsRow; scenes: Uint32Array[] }
  /** `exact`: it was trained with these rules, so a run may continue where the file ends. */
  | { type: "FAILED"; text: string };

/** A scene's key in messages, equal for equal places and speeds: `key_of` of dshq_widget/learning/scenes/arranged.py. */
export function sceneKey(words: Uint32Array): string {
  return bytesToHex(sha256(new Uint8Array(words.buffer, words.byteOffset, words.byteLength))).slice(0, 12);
}

/** A trainer as it travels: the worker's code, both modules, and the rules for WebGPU, "" where there are none. */
export interface TrainerPackage {
  code: string;
  modules: ModuleBytes;
  wgsl: string;
}
