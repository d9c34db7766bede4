/**
 * Play and learning as WebGPU compute shaders, a part of the trainer's worker. What belongs here: kernels, and what puts them into
 * command buffers. What does not: pages, workers, and when to train. The rules' kernels come from dshq_kernels/backends/wgsl.py.
 */
export type { Discounts } from "./games";
export { GpuLearner, type LearnerOptions, type LearnerState } from "./learner";
export type { NetworkDescription } from "./network";
export { type Probed, probe } from "./probe";
export type { GamesDescription, RolloutMetrics, Starts } from "./rollout";
export type { GivenSamples } from "./samples";
export type { Hyper, UpdateMetrics } from "./update";
