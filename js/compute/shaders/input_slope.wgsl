// The slope of a layer's input, and through the activation that made it: [rows, n_in] = (slope [rows, n_out] W^T) * f'.
struct Layer { rows: u32, n_in: u32, n_out: u32, at: u32, activation: u32 }
@group(0) @binding(0) var<uniform> layer: Layer;
@group(0) @binding(1) var<storage, read> input: array<f32>;
@group(0) @binding(2) var<storage, read> weights: array<f32>;
@group(0) @binding(3) var<storage, read> slope: array<f32>;
@group(0) @binding(4) var<storage, read_write> input_slope: array<f32>;

fn first_of(part: u32) -> u32 { return 0u; }
fn last_of(part: u32) -> u32 { return layer.n_out; }
fn left(row: u32, k: u32, part: u32) -> f32 {
  if (row >= layer.rows || k >= layer.n_out) { return 0.0; }
  return slope[row * layer.n_out + k];
}
fn right(k: u32, column: u32, part: u32) -> f32 {
  if (k >= layer.n_out || column >= layer.n_in) { return 0.0; }
  return weights[layer.at + column * layer.n_out + k];
}
fn put(row: u32, column: u32, sum: f32, part: u32) {
  if (row < layer.rows && column < layer.n_in) {
    let place = row * layer.n_in + column;
    input_slope[place] = sum * slope_of(input[place], layer.activation);
  }
}
