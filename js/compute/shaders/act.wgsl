// The heads: softmax of the logits, an action drawn, its log-probability and the value; one thread a row.
struct Sizes { rows: u32, n_actions: u32, words: u32, action_at: u32, base: u32, samples: u32 } // action_at: of the first row's side
@group(0) @binding(0) var<uniform> sizes: Sizes;
@group(0) @binding(1) var<storage, read> clock: array<u32>; // the decision, and what the draws hang on
@group(0) @binding(2) var<storage, read> outputs: array<f32>; // [rows, n_actions + 1]
@group(0) @binding(3) var<storage, read> masks: array<u32>; // [samples, words]
@group(0) @binding(4) var<storage, read_write> planes: array<f32>;
@group(0) @binding(5) var<storage, read_write> state: array<u32>;

fn mix(given: u32) -> u32 {
  var x = (given ^ (given >> 16u)) * 0x7feb352du;
  x = (x ^ (x >> 15u)) * 0x846ca68bu;
  return x ^ (x >> 16u);
}
fn logit(sample: u32, row: u32, k: u32) -> f32 {
  if (sizes.words > 0u && ((masks[sample * sizes.words + (k >> 5u)] >> (k & 31u)) & 1u) == 0u) { return FORBIDDEN; }
  return outputs[row * (sizes.n_actions + 1u) + k];
}

@compute @workgroup_size(64)
fn act(@builtin(global_invocation_id) id: vec3u) {
  let row = id.x;
  if (row >= sizes.rows) { return; }
  let sample = sizes.base + clock[0] * sizes.rows + row;
  var top = FORBIDDEN;
  for (var k = 0u; k < sizes.n_actions; k++) { top = max(top, logit(sample, row, k)); }
  var total = 0.0;
  for (var k = 0u; k < sizes.n_actions; k++) { total += exp(max(logit(sample, row, k) - top, -1e4)); }
  let chance = f32(mix(mix(row + clock[0] * 0x9e3779b9u) ^ clock[1]) >> 8u) * 5.9604644775390625e-08f;
  var left = chance * total;
  var drawn = 0u;
  for (var k = 0u; k < sizes.n_actions; k++) {
    let weight = exp(max(logit(sample, row, k) - top, -1e4));
    if (weight > 0.0) {
      drawn = k; // what rounding leaves over is the last possible one's
      left -= weight;
      if (left < 0.0) { break; }
    }
  }
  planes[ACTION * sizes.samples + sample] = f32(drawn);
  planes[LOG_PROB * sizes.samples + sample] = logit(sample, row, drawn) - top - log(total);
  planes[VALUE * sizes.samples + sample] = outputs[row * (sizes.n_actions + 1u) + sizes.n_actions];
  state[sizes.action_at + row] = drawn;
}
