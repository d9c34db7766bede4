// What advantages are normalised by, and the explained variance of the returns, over all samples: run/moments.py, means
// first and then squares about them, because sums are float32 here.
struct Sizes { samples: u32, normalize: u32 }
@group(0) @binding(0) var<uniform> sizes: Sizes;
@group(0) @binding(1) var<storage, read> planes: array<f32>;
@group(0) @binding(2) var<storage, read_write> control: Control;
@group(0) @binding(3) var<storage, read_write> report: array<f32>;

@compute @workgroup_size(256)
fn moments(@builtin(local_invocation_index) me: u32) {
  let n = sizes.samples;
  var sums = vec3f();
  for (var i = me; i < n; i += 256u) {
    let target_value = planes[RETURNS * n + i];
    sums += vec3f(planes[ADVANTAGE * n + i], target_value, target_value - planes[VALUE * n + i]);
  }
  let mean = vec3f(sum_of_all(sums.x, me), sum_of_all(sums.y, me), sum_of_all(sums.z, me)) / f32(n);
  var squares = vec3f();
  for (var i = me; i < n; i += 256u) {
    let target_value = planes[RETURNS * n + i];
    let apart = vec3f(planes[ADVANTAGE * n + i], target_value, target_value - planes[VALUE * n + i]) - mean;
    squares += apart * apart;
  }
  let spread = vec3f(sum_of_all(squares.x, me), sum_of_all(squares.y, me), sum_of_all(squares.z, me)) / f32(n);
  if (me == 0u) {
    control.mean = select(0.0, mean.x, sizes.normalize != 0u);
    control.inverse = select(1.0, 1.0 / (sqrt(spread.x) + 1e-8), sizes.normalize != 0u);
    report[11] = mean.y;
    report[10] = select(0.0, 1.0 - spread.z / spread.y, spread.y > 0.0);
  }
}
