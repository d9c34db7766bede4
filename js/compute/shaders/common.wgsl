// What several kernels share. Samples lie as planes of one buffer, f32 [8, samples]; whole numbers there are below 2^24.
const ACTION = 0u;
const LOG_PROB = 1u;
const VALUE = 2u;
const REWARD = 3u;
const ENDED = 4u; // 0: it went on, 1: terminated, 2: truncated
const SLOT = 5u; // where truncated: which row of a side's last observations, else -1
const ADVANTAGE = 6u;
const RETURNS = 7u;
const FORBIDDEN = -1e9; // the logit of an action that a mask forbids, as in network/mlp.py

// Of one update, cleared before it.
struct Control { minibatch: u32, stopped: u32, mean: f32, inverse: f32, scale: f32, apply: u32 }

// tanh within 1.2e-7; WGSL's own may overflow
fn activate(x: f32, activation: u32) -> f32 {
  let curved = 1.0 - 2.0 / (exp(2.0 * clamp(x, -15.0, 15.0)) + 1.0);
  return select(select(x, max(x, 0.0), activation == 2u), curved, activation == 1u);
}
fn slope_of(activated: f32, activation: u32) -> f32 {
  return select(select(1.0, select(0.0, 1.0, activated > 0.0), activation == 2u), 1.0 - activated * activated, activation == 1u);
}
