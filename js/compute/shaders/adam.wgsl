// Adam's step (Kingma and Ba, "Adam", 2015), as adam_step of network/update.py.
struct Hyper { learning_rate: f32, epsilon: f32, floats: u32 }
const BETA_1 = 0.9;
const BETA_2 = 0.999;
@group(0) @binding(0) var<uniform> hyper: Hyper;
@group(0) @binding(1) var<storage, read> control: Control;
@group(0) @binding(2) var<storage, read> powers: array<f32>;
@group(0) @binding(3) var<storage, read> slope: array<f32>;
@group(0) @binding(4) var<storage, read_write> weights: array<f32>;
@group(0) @binding(5) var<storage, read_write> first: array<f32>;
@group(0) @binding(6) var<storage, read_write> second: array<f32>;

@compute @workgroup_size(64)
fn adam(@builtin(global_invocation_id) id: vec3u) {
  let i = id.x;
  if (i >= hyper.floats || control.apply == 0u) { return; }
  let d = slope[i] * control.scale;
  let m = first[i] + (d - first[i]) * (1.0 - BETA_1);
  let v = second[i] * BETA_2 + d * d * (1.0 - BETA_2);
  first[i] = m;
  second[i] = v;
  weights[i] -= hyper.learning_rate / powers[0] * m / (sqrt(v) / sqrt(powers[1]) + hyper.epsilon);
}
