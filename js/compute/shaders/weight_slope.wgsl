// The slope of a layer's W and b over PART rows of the minibatch: partial [parts, floats], at the layer's place.
struct Layer { rows: u32, n_in: u32, n_out: u32, at: u32, floats: u32 }
const PART = 256u;
@group(0) @binding(0) var<uniform> layer: Layer;
@group(0) @binding(1) var<storage, read> input: array<f32>;
@group(0) @binding(2) var<storage, read> slope: array<f32>;
@group(0) @binding(3) var<storage, read_write> partial: array<f32>;

fn first_of(part: u32) -> u32 { return part * PART; }
fn last_of(part: u32) -> u32 { return min(layer.rows, (part + 1u) * PART); }
fn left(row: u32, k: u32, part: u32) -> f32 {
  if (row > layer.n_in || k >= last_of(part)) { return 0.0; }
  if (row == layer.n_in) { return 1.0; }
  return input[k * layer.n_in + row];
}
fn right(k: u32, column: u32, part: u32) -> f32 {
  if (k >= last_of(part) || column >= layer.n_out) { return 0.0; }
  return slope[k * layer.n_out + column];
}
fn put(row: u32, column: u32, sum: f32, part: u32) {
  if (row <= layer.n_in && column < layer.n_out) {
    partial[part * layer.floats + layer.at + row * layer.n_out + column] = sum;
  }
}
