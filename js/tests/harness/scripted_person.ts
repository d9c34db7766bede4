/** A person made of a seed: takes over, presses keys, drags, throws and pauses, while policies come and go. */

import { MODES } from "../../contract/tables";
import { Policy } from "../../match/network/policy";
import { Random } from "../../match/random";
import type { Show } from "../../match/show";

/** Plays `ticks` ticks of `show`; the same seed does the same. Leaves it paused, something possibly in the hand. */
export function playByScript(show: Show, seed: number, ticks: number): void {
  const rng = new Random(seed + 1000);
  const { spec } = show;
  const codes = Object.keys(spec.keys);
  const [x0, y0, x1, y1] = spec.world;
  const around = (lo: number, hi: number) => lo - 1 + rng.next() * (hi - lo + 2); // also beyond the world's edge
  const pick = <T>(list: readonly T[]) => list[Math.floor(rng.next() * list.length)]!;
  const newPolicy = (version: number) => {
    const layers = [spec.n_obs, 8, spec.n_actions + 1];
    const size = (spec.n_obs + 1) * 8 + 9 * (spec.n_actions + 1);
    return new Policy(
      version,
      layers,
      "tanh",
      Float32Array.from({ length: size }, () => rng.next() * 3 - 1.5),
    );
  };
  const deeds = [
    () => show.input({ code: pick(codes), down: rng.next() < 0.6, t: 0 }),
    () => show.takeOver(!show.deciders.taken),
    () => show.setMode(pick(MODES), pick(["idle", "random", ...spec.baselines])),
    () => show.setPolicy(newPolicy(show.version + 1)),
    () => show.setActionRepeat(pick([2, 4, 5])),
    () => show.hand.hold(pick(show.bodies), around(x0, x1), around(y0, y1), rng.next() * 8 - 4, rng.next() * 8 - 4),
    () => show.hand.hold(pick(show.bodies), around(x0, x1), around(y0, y1), 0, 0),
    () => show.bodies.forEach((body) => show.hand.throw(body, rng.next() * 30 - 15, rng.next() * 30 - 15)),
  ];
  const end = show.tick + ticks;
  while (show.tick < end) {
    for (let k = Math.floor(rng.next() * 3); k > 0; k--) pick(deeds)();
    if (rng.next() < 0.3) {
      show.stepBy(pick(["tick", "decision"] as const), 1);
    } else {
      show.play();
      show.advance(Math.min(0.2 * rng.next(), (end - show.tick) / spec.tick_rate));
    }
  }
  show.pause();
}
