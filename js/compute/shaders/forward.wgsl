// A dense layer: output [rows, n_out] = activation(input [rows, n_in] W + b). b stands behind W as one more row of it.
struct Layer { rows: u32, n_in: u32, n_out: u32, at: u32, activation: u32 }
@group(0) @binding(0) var<uniform> layer: Layer;
@group(0) @binding(1) var<storage, read> input: array<f32>;
@group(0) @binding(2) var<storage, read> weights: array<f32>;
@group(0) @binding(3) var<storage, read_write> output: array<f32>;

fn first_of(part: u32) -> u32 { return 0u; }
fn last_of(part: u32) -> u32 { return layer.n_in + 1u; }
fn left(row: u32, k: u32, part: u32) -> f32 {
  if (row >= layer.rows || k > layer.n_in) { return 0.0; }
  if (k == layer.n_in) { return 1.0; }
  return input[row * layer.n_in + k];
}
fn right(k: u32, column: u32, part: u32) -> f32 {
  if (k > layer.n_in || column >= layer.n_out) { return 0.0; }
  return weights[layer.at + k * layer.n_out + column];
}
fn put(row: u32, column: u32, sum: f32, part: u32) {
  if (row < layer.rows && column < layer.n_out) {
    output[row * layer.n_out + column] = activate(sum, layer.activation);
  }
}
