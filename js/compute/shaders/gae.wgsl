// Generalised advantage estimation, one thread a row: play/gae.py, terminated and truncated apart.
struct Sizes { length: u32, rows: u32, n_out: u32, base: u32, samples: u32, gamma: f32, lambda: f32 }
@group(0) @binding(0) var<uniform> sizes: Sizes;
@group(0) @binding(1) var<storage, read_write> planes: array<f32>;
@group(0) @binding(2) var<storage, read> following_outputs: array<f32>; // [rows, n_out] of the observations after the last decision
@group(0) @binding(3) var<storage, read> late_outputs: array<f32>; // [slots * rows, n_out] of the last ones of truncated episodes

@compute @workgroup_size(64)
fn gae(@builtin(global_invocation_id) id: vec3u) {
  let row = id.x;
  if (row >= sizes.rows) { return; }
  let value_at = sizes.n_out - 1u;
  var carry = 0.0;
  var following = following_outputs[row * sizes.n_out + value_at];
  for (var t = sizes.length; t > 0u; t--) {
    let at = sizes.base + (t - 1u) * sizes.rows + row;
    let ended = planes[ENDED * sizes.samples + at];
    if (ended != 0.0) {
      carry = 0.0;
      following = 0.0;
      if (ended == 2.0) {
        following = late_outputs[(u32(planes[SLOT * sizes.samples + at]) * sizes.rows + row) * sizes.n_out + value_at];
      }
    }
    let value = planes[VALUE * sizes.samples + at];
    carry = planes[REWARD * sizes.samples + at] + sizes.gamma * following - value + sizes.gamma * sizes.lambda * carry;
    planes[ADVANTAGE * sizes.samples + at] = carry;
    planes[RETURNS * sizes.samples + at] = carry + value;
    following = value;
  }
}
