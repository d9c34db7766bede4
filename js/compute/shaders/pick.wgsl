// The observations of a minibatch: x [rows, n_obs], of the samples that `order` names.
struct Sizes { rows: u32, n_obs: u32 }
@group(0) @binding(0) var<uniform> sizes: Sizes;
@group(0) @binding(1) var<storage, read> control: Control;
@group(0) @binding(2) var<storage, read> order: array<u32>;
@group(0) @binding(3) var<storage, read> observations: array<f32>;
@group(0) @binding(4) var<storage, read_write> x: array<f32>;

@compute @workgroup_size(64)
fn pick(@builtin(global_invocation_id) id: vec3u) {
  let row = id.x;
  if (row >= sizes.rows) { return; }
  let sample = order[control.minibatch * sizes.rows + row];
  for (var k = 0u; k < sizes.n_obs; k++) {
    x[row * sizes.n_obs + k] = observations[sample * sizes.n_obs + k];
  }
}
