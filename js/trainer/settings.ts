/** The hyper-parameters of a run in the page: the values of the trait `config` as numbers, checked by its schema. */
import { pairsIn } from "../contract/pairs";
import type { Values } from "../contract/training";

export interface Settings {
  num_envs: number;
  rollout_length: number;
  total_agent_steps: number;
  epochs: number;
  minibatch_size: number;
  minibatch_order: string;
  priority_alpha: number;
  priority_beta: number;
  learning_rate: number;
  lr_schedule: string;
  gamma: number;
  gae_lambda: number;
  clip_epsilon: number;
  clip_schedule: string;
  clip_value: boolean;
  value_coef: number;
  entropy_coef: number;
  max_grad_norm: number;
  target_kl: number;
  min_entropy: number;
  hidden_sizes: number[];
  activation: string;
  separate_value_net: boolean;
  memory: number;
  normalize_observations: boolean;
  normalize_rewards: boolean;
  normalize_advantages: boolean;
  opponents: Record<string, number>;
  snapshot_every: number;
  collapse_guard: boolean;
  reward_weights: Record<string, number>;
  scene_share: number;
  seed: number;
  workers: number;
  pace: number;
  evaluate_seconds: number;
  autosave_seconds: number;
}

const TABLES = ["opponents", "reward_weights"];

/** The settings in the trait's or a file's values. */
export function readSettings(values: Values): Settings {
  const read = Object.entries(values).map(([key, value]) => [key, TABLES.includes(key) ? table(value) : value]);
  return Object.fromEntries(read) as Settings;
}

function table(value: Values[string]): Record<string, number> {
  if (typeof value === "object" && !Array.isArray(value)) return value;
  return Object.fromEntries(pairsIn(String(value)).map(([name, number]) => [name, Number(number)]));
}
