/** Matches from proper starts, each game played once: dshq_kernels/play/rollout.py's `play_matches` on the learner's module. */

import { Draws } from "../draws";
import type { Results } from "../parts";
import { makePlan, type Plan, pack } from "../ppo/plan";
import { DRAWS, KEPT_WORDS } from "../tables";
import type { Modules } from "./modules";
import { type Player, POLICY } from "./players";
import { LANES } from "./samples";

/** The shape of the network of players who are one. */
export interface Shape {
  layers: readonly number[];
  activation: string;
}

export class Matches {
  private readonly plan: Plan;
  private readonly nobody: Plan;

  constructor(
    private readonly modules: Modules,
    shape: Shape,
  ) {
    this.plan = makePlan(modules, shape.layers, shape.activation, false);
    this.nobody = makePlan(modules, [1, 1], "none", false);
  }

  /**
   * `games` matches; in a drill of two sides the first player has side 0 in the first half and side 1 in the second. With a `scene`, a game's
   * words, all begin there and the first player has side 0.
   */
  readonly play = (first: Player, second: Player, games: number, seed: number, scene?: Uint32Array): Results => {
    const { modules } = this;
    return modules.heap.borrow(() => {
      const { spec, heap, tileWords, tileBytes } = modules;
      const halves = spec.sides === 2 && !scene ? [Math.ceil(games / 2), Math.floor(games / 2)] : [games, 0];
      const tilesOf = halves.map((half) => Math.ceil(half / LANES));
      const count = tilesOf[0]! + tilesOf[1]!;
      const tiles = heap.take(count * tileBytes);
      modules.begin(tiles, Draws.seeded(modules, seed >>> 0, DRAWS.match_starts).words(count * LANES), 0);
      for (let word = KEPT_WORDS; scene && word < tileWords; word++) {
        for (let tile = 0; tile < count; tile++) tiles.u32.fill(scene[word]!, (tile * tileWords + word) * LANES, (tile * tileWords + word + 1) * LANES);
      }
      const network = (player: Player, prefix: string): Record<string, number> => {
        const plan = player.kind <= POLICY ? this.plan : this.nobody;
        const block = heap.floats(plan.floats);
        if (player.weights) pack(plan, player.weights, block.f32);
        const remembered = heap.floats(count * 2 * plan.memory * LANES);
        remembered.f32.fill(0);
        return {
          [`${prefix}plan`]: plan.at,
          [`${prefix}layers`]: plan.rows,
          [`${prefix}activation`]: plan.activation,
          [`${prefix}params`]: block.at,
          [`${prefix}memories`]: remembered.at,
          [`${prefix}kind`]: player.kind,
        };
      };
      const [results, lengths, returned] = [heap.floats(count * LANES), heap.floats(count * LANES), heap.floats(count * LANES)];
      modules.call("matches", {
        ...modules.game,
        ...network(first, ""),
        ...network(second, "other_"),
        tiles: tiles.at,
        n_tiles: count,
        side_of: heap.i64(Array.from({ length: count }, (_, tile) => Number(tile >= tilesOf[0]!))).at,
        n_actions: spec.n_actions,
        seed: seed >>> 0,
        weights: heap.f32(spec.terms.map(({ kind, weight }) => (kind === "potential" ? 0 : weight))).at,
        n_terms: spec.terms.length,
        results: results.at,
        lengths: lengths.at,
        returned: returned.at,
        scratch: heap.floats(modules.scratchFloats(1) + this.plan.playScratch + this.nobody.playScratch).at,
      });
      const found: Results = { wins: 0, draws: 0, losses: 0, returnMean: 0 };
      const begins = [0, tilesOf[0]! * LANES];
      for (const [half, games] of halves.entries()) {
        for (let k = begins[half]!; k < begins[half]! + games; k++) {
          const result = results.i32[k]!;
          if (result > 0) found.wins += 1;
          else if (result < 0) found.losses += 1;
          else found.draws += 1;
          found.returnMean += returned.f32[k]! / games;
        }
      }
      return found;
    });
  };
}
