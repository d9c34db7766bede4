// PPO's loss of a minibatch and its slope by logits and value: what _loss_unit of network/gradient.py does, one thread
// a sample (Schulman et al., "Proximal Policy Optimization Algorithms", 2017, equations 7 and 9).
struct Hyper { clip: f32, value_coef: f32, entropy_coef: f32, clip_value: u32 }
struct Sizes { rows: u32, n_actions: u32, words: u32, samples: u32 }
@group(0) @binding(0) var<uniform> sizes: Sizes;
@group(0) @binding(1) var<uniform> hyper: Hyper;
@group(0) @binding(2) var<storage, read> control: Control;
@group(0) @binding(3) var<storage, read> order: array<u32>;
@group(0) @binding(4) var<storage, read> planes: array<f32>;
@group(0) @binding(5) var<storage, read> masks: array<u32>; // [samples, words], one bit an action; not read without a mask
@group(0) @binding(6) var<storage, read_write> outputs: array<f32>; // [rows, n_actions + 1]: logits and value
@group(0) @binding(7) var<storage, read_write> slopes: array<f32>; // the same shape
@group(0) @binding(8) var<storage, read_write> parts: array<f32>; // [5, rows]: policy, value, entropy, divergence, clipped

@compute @workgroup_size(64)
fn loss(@builtin(global_invocation_id) id: vec3u) {
  let row = id.x;
  if (row >= sizes.rows) { return; }
  let n = sizes.n_actions;
  let sample = order[control.minibatch * sizes.rows + row];
  let at = row * (n + 1u);
  let share = 1.0 / f32(sizes.rows);
  let action = u32(planes[ACTION * sizes.samples + sample]);
  var top = FORBIDDEN;
  for (var k = 0u; k < n; k++) {
    if (sizes.words > 0u && ((masks[sample * sizes.words + (k >> 5u)] >> (k & 31u)) & 1u) == 0u) { outputs[at + k] = FORBIDDEN; }
    top = max(top, outputs[at + k]);
  }
  var total = 0.0;
  var surprise = 0.0;
  for (var k = 0u; k < n; k++) {
    let below = outputs[at + k] - top;
    let weight = select(exp(below), 0.0, below < 0.5 * FORBIDDEN);
    total += weight;
    surprise += weight * below;
    slopes[at + k] = weight;
  }
  let log_total = log(total);
  let entropy = log_total - surprise / total;
  let difference = outputs[at + action] - top - log_total - planes[LOG_PROB * sizes.samples + sample];
  let ratio = exp(difference);
  let gain = (planes[ADVANTAGE * sizes.samples + sample] - control.mean) * control.inverse;
  let held = clamp(ratio, 1.0 - hyper.clip, 1.0 + hyper.clip);
  let blocked = (gain > 0.0 && ratio > 1.0 + hyper.clip) || (gain < 0.0 && ratio < 1.0 - hyper.clip);
  let pull = select(gain * ratio, 0.0, blocked) * share;
  let bonus = hyper.entropy_coef * share;
  for (var k = 0u; k < n; k++) {
    let probability = slopes[at + k] / total;
    let log_probability = max(outputs[at + k] - top, 0.5 * FORBIDDEN) - log_total;
    let unchosen = probability * (pull + bonus * (log_probability + entropy));
    slopes[at + k] = select(unchosen, unchosen - pull, k == action);
  }

  let estimate = outputs[at + n];
  let goal = planes[RETURNS * sizes.samples + sample];
  let error = estimate - goal;
  var value_pull = error;
  var square = error * error;
  if (hyper.clip_value != 0u) {
    let before = planes[VALUE * sizes.samples + sample];
    let moved = estimate - before;
    let clipped = before + clamp(moved, -hyper.clip, hyper.clip) - goal;
    if (clipped * clipped > square && abs(moved) > hyper.clip) { value_pull = 0.0; }
    square = max(square, clipped * clipped);
  }
  slopes[at + n] = value_pull * 2.0 * hyper.value_coef * share;

  parts[row] = -min(ratio * gain, held * gain);
  parts[sizes.rows + row] = square;
  parts[2u * sizes.rows + row] = entropy;
  parts[3u * sizes.rows + row] = ratio - 1.0 - difference;
  parts[4u * sizes.rows + row] = select(0.0, 1.0, abs(ratio - 1.0) > hyper.clip);
}
