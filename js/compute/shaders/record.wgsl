// What the rules wrote with the game last becomes rows of samples; a row is a learning side of a game.
struct Sizes { games: u32, rows: u32, n_obs: u32, words: u32, length: u32, action_at: u32, base: u32, samples: u32, side: u32 }
@group(0) @binding(0) var<uniform> sizes: Sizes;
@group(0) @binding(1) var<storage, read_write> clock: array<u32>; // the decision
@group(0) @binding(2) var<storage, read_write> seen: array<f32>; // [sides, n_obs, games]
@group(0) @binding(3) var<storage, read_write> x: array<f32>; // [rows, n_obs], what the network reads
@group(0) @binding(4) var<storage, read_write> observations: array<f32>; // [samples, n_obs]; the rows of these games begin at `base`
@group(0) @binding(5) var<storage, read_write> planes: array<f32>;
@group(0) @binding(6) var<storage, read_write> whole: array<i32>; // masks [sides, words, games], or actions [sides, games]
@group(0) @binding(7) var<storage, read_write> masks: array<u32>; // [samples, words]
@group(0) @binding(8) var<storage, read_write> late: array<f32>; // [slots * rows, n_obs]
@group(0) @binding(9) var<storage, read_write> state: array<u32>;

fn sample_of(row: u32) -> u32 {
  return sizes.base + clock[0] * sizes.rows + row;
}
// The first rows are those of `side`.
fn side_of(row: u32) -> u32 {
  return sizes.side + row / sizes.games;
}
fn seen_by(row: u32, k: u32) -> f32 {
  return seen[(side_of(row) * sizes.n_obs + k) * sizes.games + row % sizes.games];
}

@compute @workgroup_size(64)
fn record(@builtin(global_invocation_id) id: vec3u) {
  if (id.x >= sizes.rows) { return; }
  for (var k = 0u; k < sizes.n_obs; k++) {
    let value = seen_by(id.x, k);
    x[id.x * sizes.n_obs + k] = value;
    if (clock[0] < sizes.length) { observations[sample_of(id.x) * sizes.n_obs + k] = value; }
  }
}

@compute @workgroup_size(64)
fn permit(@builtin(global_invocation_id) id: vec3u) {
  if (id.x >= sizes.rows) { return; }
  for (var w = 0u; w < sizes.words; w++) {
    let word = whole[(side_of(id.x) * sizes.words + w) * sizes.games + id.x % sizes.games];
    masks[sample_of(id.x) * sizes.words + w] = bitcast<u32>(word);
  }
}

// The last observation of a truncated episode goes where its value will be asked for.
@compute @workgroup_size(64)
fn keep(@builtin(global_invocation_id) id: vec3u) {
  if (id.x >= sizes.rows) { return; }
  let slot = planes[SLOT * sizes.samples + sample_of(id.x)];
  if (slot < 0.0) { return; }
  for (var k = 0u; k < sizes.n_obs; k++) { late[(u32(slot) * sizes.rows + id.x) * sizes.n_obs + k] = seen_by(id.x, k); }
}

// A scripted opponent is the other side.
@compute @workgroup_size(64)
fn reply(@builtin(global_invocation_id) id: vec3u) {
  if (id.x >= sizes.games) { return; }
  let at = (1u - sizes.side) * sizes.games + id.x;
  state[sizes.action_at + at] = bitcast<u32>(whole[at]);
}

@compute @workgroup_size(1)
fn advance() {
  clock[0] += 1u;
}
