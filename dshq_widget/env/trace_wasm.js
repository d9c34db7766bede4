// The same steps as trace.js and trace.py with a drill's WebAssembly module: one tile of 16 games, whose fields lie lane beside lane. Used by Node.
// Verbs are called through the function table, by their place in `CpuGame.verbs`, as the learner calls them; `places` are the addresses of wasm.py.
function traceModule(bytes, spec, ticks, seed, state, views, places) {
  const LANES = 16;
  const words = spec.fields.reduce((sum, [, , length]) => sum + (length || 1), 0);
  const shape = { action: spec.sides, observe: spec.sides * spec.n_obs, terms: spec.sides * Math.max(1, spec.terms.length), status: 2 };
  const out = places.stack_top + words * LANES * 4;
  const most = Math.max(shape.observe, shape.terms, spec.sides * spec.n_actions, 2) * LANES * 4;
  const memory = new WebAssembly.Memory({ initial: Math.ceil((out + most) / 65536) });
  const table = new WebAssembly.Table({ element: "anyfunc", initial: 1 });
  const stack = new WebAssembly.Global({ value: "i32", mutable: true }, places.stack_top);
  const imports = { env: { memory, __stack_pointer: stack, __indirect_function_table: table } };
  const { exports } = new WebAssembly.Instance(new WebAssembly.Module(bytes), imports);
  const verbs = {};
  for (const [name, verb] of Object.entries(exports)) {
    verbs[name] = table.grow(1);
    table.set(verbs[name], verb);
  }
  const tile = BigInt(places.stack_top);
  const call = (name, argument) => table.get(verbs[name])(tile, argument);
  const at = {};
  let word = 0;
  for (const [name, , length] of spec.fields) {
    at[name] = new Int32Array(memory.buffer, places.stack_top + word * LANES * 4, (length || 1) * LANES);
    word += length || 1;
  }
  const ints = new Int32Array(memory.buffer, out, most / 4);
  const floats = new Float32Array(memory.buffer, out, most / 4);
  const tileWords = new Uint32Array(memory.buffer, places.stack_top, words * LANES);
  const game = new Uint32Array(words);
  // Rows `first` to `first + count` of the result of the last verb, one game's.
  const column = (from, first, count, lane, Kind) => Kind.from({ length: count }, (_, k) => from[(first + k) * LANES + lane]);
  const result = (name) => {
    call(name, BigInt(out));
    return { ints: ints.slice(), floats: floats.slice() };
  };

  for (let lane = 0; lane < LANES; lane++) {
    at.rng_key[lane] = seed + lane;
    at.practice[lane] = 1;
    call("reset", BigInt(lane));
  }
  let episodes = 0;
  for (let t = 0; t < ticks; t++) {
    if (t % spec.action_repeat === 0) {
      const observed = result("observe").floats;
      const terms = result("terms").floats;
      const allowed = exports.mask ? result("mask").ints : null;
      const scripted = spec.baselines.map((name) => result(`baseline_${name}`).ints);
      for (let lane = 0; lane < LANES; lane++) {
        for (let side = 0; side < spec.sides; side++) {
          views(column(observed, side * spec.n_obs, spec.n_obs, lane, Float32Array));
          views(column(terms, side * spec.terms.length, spec.terms.length, lane, Float32Array));
          if (allowed) views(column(allowed, side * spec.n_actions, spec.n_actions, lane, Uint8Array));
          for (const actions of scripted) views(column(actions, side, 1, lane, Int32Array));
        }
      }
      at.action.set(result("random").ints.subarray(0, at.action.length));
      call("decide");
    }
    call("tick", 1n);
    for (let lane = 0; lane < LANES; lane++) {
      for (let k = 0; k < words; k++) game[k] = tileWords[k * LANES + lane];
      state(new Uint8Array(game.buffer));
    }
    if ((t + 1) % spec.action_repeat === 0) {
      const status = result("status").ints;
      for (let lane = 0; lane < LANES; lane++) {
        if (status[lane] !== 0 || at.ticks[lane] >= spec.time_limit) {
          views(column(status, 1, 1, lane, Int32Array));
          episodes += 1;
          call("reset", BigInt(lane));
        }
      }
    }
  }
  return episodes;
}
