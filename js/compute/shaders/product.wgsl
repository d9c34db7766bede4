// A matrix product: put(row, column, sum over k of left(row, k) * right(k, column), part), k from first_of(part) on.
// A workgroup makes a tile of 32 x 32, 16 k at a time; each of its 64 threads has 4 x 4 of the sums in registers.
var<workgroup> lefts: array<f32, 512>;
var<workgroup> rights: array<f32, 512>;

@compute @workgroup_size(64)
fn product(@builtin(workgroup_id) tile: vec3u, @builtin(local_invocation_index) me: u32) {
  let top = tile.y * 32u;
  let side = tile.x * 32u;
  let row = (me / 8u) * 4u;
  let column = (me % 8u) * 4u;
  var sums: array<vec4f, 4>;
  for (var k = first_of(tile.z); k < last_of(tile.z); k += 16u) {
    for (var i = me; i < 512u; i += 64u) {
      lefts[i] = left(top + i % 32u, k + i / 32u, tile.z);
      rights[i] = right(k + i / 32u, side + i % 32u, tile.z);
    }
    workgroupBarrier();
    for (var i = 0u; i < 512u; i += 32u) {
      let a = i + row;
      let b = i + column;
      let across = vec4f(rights[b], rights[b + 1u], rights[b + 2u], rights[b + 3u]);
      sums[0] += lefts[a] * across;
      sums[1] += lefts[a + 1u] * across;
      sums[2] += lefts[a + 2u] * across;
      sums[3] += lefts[a + 3u] * across;
    }
    workgroupBarrier();
  }
  for (var i = 0u; i < 4u; i++) {
    for (var j = 0u; j < 4u; j++) {
      put(top + row + i, side + column + j, sums[i][j], tile.z);
    }
  }
}
