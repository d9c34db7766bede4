// The parts' slopes together: slope [floats], 0 where `mask` says that there is no weight.
struct Sizes { floats: u32, parts: u32 }
@group(0) @binding(0) var<uniform> sizes: Sizes;
@group(0) @binding(1) var<storage, read> partial: array<f32>; // [parts, floats]
@group(0) @binding(2) var<storage, read> mask: array<f32>;
@group(0) @binding(3) var<storage, read_write> slope: array<f32>;

@compute @workgroup_size(64)
fn gather(@builtin(global_invocation_id) id: vec3u) {
  if (id.x >= sizes.floats) { return; }
  var sum = 0.0;
  for (var part = 0u; part < sizes.parts; part++) { sum += partial[part * sizes.floats + id.x]; }
  slope[id.x] = sum * mask[id.x];
}
