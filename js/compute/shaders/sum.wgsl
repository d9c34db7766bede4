// Sums over the 256 threads of one workgroup.
var<workgroup> shared_sums: array<f32, 256>;

fn sum_of_all(mine: f32, me: u32) -> f32 {
  shared_sums[me] = mine;
  workgroupBarrier();
  for (var half = 128u; half > 0u; half /= 2u) {
    if (me < half) { shared_sums[me] += shared_sums[me + half]; }
    workgroupBarrier();
  }
  let total = shared_sums[0];
  workgroupBarrier();
  return total;
}
