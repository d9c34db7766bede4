// After a decision: what it paid each learning side, and whose episode it ended; one thread a game (play/settle_cuda.py).
struct Sizes { games: u32, rows: u32, repeat: u32, time_limit: u32, ticks_at: u32, n_terms: u32, base: u32, samples: u32, side: u32, gamma: f32, slots: u32 }
@group(0) @binding(0) var<uniform> sizes: Sizes;
@group(0) @binding(1) var<storage, read> clock: array<u32>;
@group(0) @binding(2) var<storage, read> terms: array<f32>; // [sides, n_terms, games], after the decision
@group(0) @binding(3) var<storage, read_write> before: array<f32>; // potentials before it
@group(0) @binding(4) var<storage, read> pays: array<f32>; // [2, n_terms]: weights; 1 for a potential
@group(0) @binding(5) var<storage, read_write> ends: array<i32>; // [2, games]: terminated, winner; then: over
@group(0) @binding(6) var<storage, read> state: array<u32>;
@group(0) @binding(7) var<storage, read_write> planes: array<f32>;
@group(0) @binding(8) var<storage, read_write> tally: array<f32>; // [5, games] episodes, wins of 0 and of 1, draws, decisions; then of rows

// What `tally` has of a row, behind what it has of games; behind the terms the return of the running episode, which stays.
const LATE = 0u; // truncated episodes
const ENDS = 1u; // episodes that ended
const SUM = 2u;
const LOW = 3u;
const HIGH = 4u;
const TERMS = 5u; // what each term paid, over all decisions
fn of_row(what: u32, row: u32) -> u32 {
  return 5u * sizes.games + what * sizes.rows + row;
}

@compute @workgroup_size(64)
fn settle(@builtin(global_invocation_id) id: vec3u) {
  let game = id.x;
  if (game >= sizes.games) { return; }
  let terminated = ends[game] != 0;
  let ticks = state[sizes.ticks_at * sizes.games + game];
  let late = !terminated && ticks >= sizes.time_limit;
  let over = terminated || late;
  for (var row = game; row < sizes.rows; row += sizes.games) {
    let side = sizes.side + row / sizes.games;
    var total = 0.0;
    for (var k = 0u; k < sizes.n_terms; k++) {
      let place = (side * sizes.n_terms + k) * sizes.games + game;
      var value = terms[place];
      if (pays[sizes.n_terms + k] != 0.0) {
        value = sizes.gamma * value - before[place];
        before[place] = terms[place];
      }
      total += pays[k] * value;
      tally[of_row(TERMS + k, row)] += pays[k] * value;
    }
    let at = sizes.base + clock[0] * sizes.rows + row;
    planes[REWARD * sizes.samples + at] = total;
    planes[ENDED * sizes.samples + at] = select(select(0.0, 2.0, late), 1.0, terminated);
    let slot = min(tally[of_row(LATE, row)], f32(sizes.slots) - 1.0); // games may begin late: a drill's own starts
    planes[SLOT * sizes.samples + at] = select(-1.0, slot, late);
    tally[of_row(LATE, row)] += select(0.0, 1.0, late);
    let running = of_row(TERMS + sizes.n_terms, row);
    let gain = tally[running] + total;
    tally[running] = select(gain, 0.0, over);
    if (over) {
      let first = tally[of_row(ENDS, row)] == 0.0;
      tally[of_row(LOW, row)] = select(min(tally[of_row(LOW, row)], gain), gain, first);
      tally[of_row(HIGH, row)] = select(max(tally[of_row(HIGH, row)], gain), gain, first);
      tally[of_row(ENDS, row)] += 1.0;
      tally[of_row(SUM, row)] += gain;
    }
  }
  if (over) {
    let winner = ends[sizes.games + game];
    tally[game] += 1.0;
    tally[select(select(3u, 2u, winner < 0), 1u, winner > 0) * sizes.games + game] += 1.0;
    tally[4u * sizes.games + game] += f32((ticks + sizes.repeat - 1u) / sizes.repeat);
  }
  ends[game] = select(0, 1, over);
}
