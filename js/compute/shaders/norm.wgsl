// The gradient's norm, the sums of the loss's parts, and whether Adam may step: network/update.py. One workgroup.
struct Hyper { max_norm: f32, divergence: f32, floats: u32, rows: u32 } // divergence: the mean that stops the update; 0: none
const BETA_1 = 0.9;
const BETA_2 = 0.999;
@group(0) @binding(0) var<uniform> hyper: Hyper;
@group(0) @binding(1) var<storage, read> slope: array<f32>;
@group(0) @binding(2) var<storage, read> parts: array<f32>; // [5, rows]
@group(0) @binding(3) var<storage, read_write> control: Control;
@group(0) @binding(4) var<storage, read_write> powers: array<f32>; // 1 - beta^steps of both moments
@group(0) @binding(5) var<storage, read_write> report: array<f32>; // 5 sums, samples, norms, applied, skipped, stopped, explained, mean return

@compute @workgroup_size(256)
fn norm(@builtin(local_invocation_index) me: u32) {
  var mine = 0.0;
  for (var i = me; i < hyper.floats; i += 256u) { mine += slope[i] * slope[i]; }
  let size = sqrt(sum_of_all(mine, me));
  var sums: array<f32, 5>;
  for (var k = 0u; k < 5u; k++) {
    mine = 0.0;
    for (var i = me; i < hyper.rows; i += 256u) { mine += parts[k * hyper.rows + i]; }
    sums[k] = sum_of_all(mine, me);
  }
  if (me != 0u) { return; }
  control.minibatch += 1u;
  let far = hyper.divergence > 0.0 && sums[3] / f32(hyper.rows) > hyper.divergence;
  if (control.stopped == 0u && far) { control.stopped = 1u; }
  report[9] = f32(control.stopped);
  let finite = (bitcast<u32>(size) & 0x7f800000u) != 0x7f800000u;
  control.apply = select(0u, 1u, finite && control.stopped == 0u);
  if (control.stopped != 0u) { return; }
  if (!finite) { report[8] += 1.0; return; }
  for (var k = 0u; k < 5u; k++) { report[k] += sums[k]; }
  report[5] += f32(hyper.rows);
  report[6] += size;
  report[7] += 1.0;
  control.scale = select(1.0, min(1.0, hyper.max_norm / (size + 1e-6)), hyper.max_norm > 0.0);
  powers[0] = powers[0] * BETA_1 + (1.0 - BETA_1);
  powers[1] = powers[1] * BETA_2 + (1.0 - BETA_2);
}
