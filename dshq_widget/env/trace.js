// Runs 16 games of a compiled drill and hands every state, after every tick, to `state`, and what players and the trainer would see at every decision
// to `views`. The same steps as trace.py takes on the CPU; used by Node and, in the tests, by a real browser.
function trace(source, spec, ticks, seed, state, views) {
  const game = new Function(source)();
  const games = [];
  for (let k = 0; k < 16; k++) {
    const s = game.create();
    s.rng_key[0] = (seed + k) >>> 0;
    s.practice[0] = 1;
    game.reset(s);
    games.push(s);
  }
  const actions = new Int32Array(spec.sides);
  const observed = new Float32Array(spec.n_obs);
  const terms = new Float32Array(spec.terms.length);
  const number = new Int32Array(1);
  const allowed = new Uint8Array(spec.n_actions);
  let episodes = 0;
  for (let t = 0; t < ticks; t++) {
    for (const s of games) {
      if (t % spec.action_repeat === 0) {
        for (let side = 0; side < spec.sides; side++) {
          game.observe(s, side, observed);
          views(observed);
          game.terms(s, side, terms);
          views(terms);
          if (game.mask) {
            game.mask(s, side, allowed);
            views(allowed);
          }
          for (const name of spec.baselines) {
            number[0] = game.baselines[name](s, side);
            views(number);
          }
        }
        game.random(s, actions);
        s.action.set(actions);
        game.decide(s);
      }
      game.tick(s);
    }
    for (const s of games) state(new Uint8Array(s.buffer));
    if ((t + 1) % spec.action_repeat === 0) {
      for (const s of games) {
        if (game.terminated(s) || s.ticks[0] >= spec.time_limit) {
          number[0] = game.winner(s);
          views(number);
          episodes += 1;
          game.reset(s);
        }
      }
    }
  }
  return episodes;
}
