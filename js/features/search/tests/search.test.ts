import { describe, expect, it } from "vitest";
import { Policy } from "../../../match/network/policy";
import type { GameState } from "../../../match/rules";
import { loadRules } from "../../../match/rules";
import { TOY } from "../../../tests/harness/toy_game";
import type { SearchSettings } from "../messages";
import { sampleSize, temperatureOf, weigh } from "../particle_weights";
import { PLAN, type Plan, type Root, Search, type Witness } from "../search";
import { draw, type LittleState, littleGame, samePolicy } from "./little_games";

const nobody = () => 0;
const settings = (num_particles: number, search_depth: number, gamma = 1): SearchSettings => ({ num_particles, search_depth, gamma, weights: {} });
const plan = (change: Partial<Plan>): Plan => ({ ...PLAN, ...change });
const rootOf = (state: GameState, seed = 1, actionRepeat = 1): Root => ({ state, side: 0, actionRepeat, seed });

/** Keeps the states of all particles as they are in the end, and their weights. */
class Watching implements Witness {
  readonly memory: number[][] = []; // [particle] as it stood when it last moved
  weights: number[] = [];
  moves = 0;
  resamplings = 0;

  begin(): void {}
  moved(particle: number, state: GameState): void {
    this.moves++;
    this.memory[particle] = [...(state as LittleState).memory];
  }
  resampled(ancestors: Int32Array): void {
    this.resamplings++;
    const before = this.memory.map((words) => [...words]);
    ancestors.forEach((ancestor, k) => (this.memory[k] = before[ancestor]!));
  }
  ended(weights: Float64Array): void {
    this.weights = [...weights];
  }
}

describe("one decision", () => {
  const PAYS = [1, 0.5, 0];
  const bandit = littleGame({
    actions: 3,
    decide: (s) => (s.memory[0] = PAYS[s.action[0]!]!),
    reward: (s) => s.memory[0]!,
    terminated: () => true,
  });

  it("has the target pi exp(r / temperature) / Z", () => {
    const [policy, temperature] = [samePolicy([0.2, 0.3, 0.5], 0.4), 0.35];
    const search = new Search(bandit.game, bandit.spec, settings(8192, 1), plan({ temperature }));
    const best = search.decide(policy, rootOf(bandit.game.create()), nobody);
    const shares = [0.2, 0.3, 0.5].map((p, a) => p * Math.exp(PAYS[a]! / temperature));
    const sum = shares.reduce((a, b) => a + b);
    shares.forEach((share, a) => expect(search.target[a]).toBeCloseTo(share / sum, 1.5));
    expect([...search.prior].map((p) => Number(p.toFixed(4)))).toEqual([0.2, 0.3, 0.5]);
    expect(best).toBe(0);
  });

  it("never takes what a mask forbids", () => {
    const game = { ...bandit.game, mask: (_: GameState, __: number, out: Uint8Array) => out.set([0, 1, 1]) };
    const search = new Search(game, bandit.spec, settings(64, 1));
    expect(search.decide(samePolicy([0.9, 0.05, 0.05], 0), rootOf(game.create()), nobody)).toBe(1);
    expect(search.target[0]).toBe(0);
  });
});

describe("several decisions", () => {
  const chain = littleGame({
    actions: 2,
    decide: (s) => {
      if (s.memory[1] === 0) s.memory[0] = s.action[0]!;
      s.memory[1]!++;
    },
    reward: (s) => (s.memory[1] === 2 ? s.memory[0]! : 0), // the second decision pays for the first action
    terminated: () => false,
  });
  const policy = samePolicy([0.7, 0.3], 0);

  it("give the root action what comes later", () => {
    const search = new Search(chain.game, chain.spec, settings(16, 2));
    expect(search.decide(policy, rootOf(chain.game.create()), nobody)).toBe(1);
    const blind = new Search(chain.game, chain.spec, settings(16, 1));
    expect(blind.decide(policy, rootOf(chain.game.create()), nobody)).toBe(0); // nothing differs: as many particles as the policy gives
  });

  it("keep root actions through resampling, which never follows the last one", () => {
    const search = new Search(chain.game, chain.spec, settings(64, 4), plan({ period: 1 }));
    const watching = new Watching();
    search.decide(policy, rootOf(chain.game.create()), nobody, watching);
    expect(watching.resamplings).toBe(3);
    const sums = [0, 0];
    watching.memory.forEach(([action], k) => (sums[action!]! += watching.weights[k]!));
    sums.forEach((sum, action) => expect(search.target[action]).toBeCloseTo(sum, 5));

    const usual = new Watching();
    const deep = new Search(chain.game, chain.spec, settings(16, 8));
    deep.decide(policy, rootOf(chain.game.create()), nobody, usual);
    expect(usual.resamplings).toBe(1); // after the fourth, not after the eighth
    const [first, second, ...later] = deep.sizes;
    expect([first, second! < 12], "the second decision pays").toEqual([16, true]);
    expect(later).toEqual([second, second, 16, 16, 16, 16].map((size) => expect.closeTo(size!, 5))); // weights are equal again
  });

  it("are resampled where the sample size is small", () => {
    const [never, always] = [0, 1].map((least) => {
      const search = new Search(chain.game, chain.spec, settings(16, 4), plan({ period: 9, least, temperature: 0.1 }));
      const watching = new Watching();
      search.decide(policy, rootOf(chain.game.create()), nobody, watching);
      return watching.resamplings;
    });
    expect([never, always]).toEqual([0, 1]); // only the second decision makes a difference, and the last is never followed by one
  });

  it("gain a dead particle nothing", () => {
    const trap = littleGame({
      actions: 2,
      decide: (s) => {
        if (s.memory[1] === 0) s.memory[0] = s.action[0]!;
        s.memory[1]!++;
      },
      reward: (s) => (s.memory[0] === 0 ? 1 : s.memory[1] === 1 ? 0 : 0.2), // action 0 ends the game and pays 1
      terminated: (s) => s.memory[0] === 0,
    });
    const [value, temperature] = [0.5, 0.5];
    const search = new Search(trap.game, trap.spec, settings(256, 3, 0.9), plan({ temperature }));
    const watching = new Watching();
    search.decide(samePolicy([0.5, 0.5], value), rootOf(trap.game.create()), nobody, watching);
    for (const [action, decisions] of watching.memory) expect(decisions).toBe(action === 0 ? 1 : 3);
    const step = 0.9 * value - value; // of the value, while the game continues
    const gains = [1 - value, 3 * step + 0.4];
    const counts = [0, 1].map((root) => watching.memory.filter(([action]) => action === root).length);
    const shares = counts.map((count, a) => count * Math.exp(gains[a]! / temperature));
    expect(search.target[0]).toBeCloseTo(shares[0]! / (shares[0]! + shares[1]!), 5);
  });

  it("ask the network once about what several particles see", () => {
    let asked = 0;
    const counted = samePolicy([0.7, 0.3], 0);
    const forward = counted.forward.bind(counted);
    counted.forward = (...given) => {
      asked++;
      forward(...given);
    };
    new Search(chain.game, chain.spec, settings(64, 3)).decide(counted, rootOf(chain.game.create()), nobody);
    expect(asked).toBe(1 + 3); // they all see nothing
  });

  it("count a value where the time is up, and then nothing", () => {
    const watching = new Watching();
    const search = new Search(chain.game, { ...chain.spec, time_limit: 2 }, settings(8, 4));
    search.decide(policy, rootOf(chain.game.create()), nobody, watching);
    expect(watching.moves).toBe(16);
  });
});

describe("chance", () => {
  const dice = littleGame({
    actions: 2,
    decide: (s) => {
      const luck = draw(s) < 0.5 ? 1 : -1;
      s.memory[0] = s.action[0] === 1 ? luck : 0.1; // a gamble, or a little for sure
    },
    reward: (s) => s.memory[0]!,
    terminated: () => true,
  });

  it("is not foreseen", () => {
    const search = new Search(dice.game, dice.spec, settings(64, 1));
    const policy = samePolicy([0.5, 0.5], 0);
    const taken = [0, 0];
    const met = [0, 0];
    for (let key = 1; key <= 600; key++) {
      const state = dice.game.create() as LittleState;
      state.rng_key[0] = Math.imul(key, 0x85ebca6b) >>> 0;
      const action = search.decide(policy, rootOf(state, key), nobody);
      const lucky = Number(draw(state) < 0.5); // what the match would roll
      met[lucky]!++;
      taken[lucky]! += action;
    }
    const [unlucky, lucky] = taken.map((count, k) => count / met[k]!);
    expect(Math.abs(lucky! - unlucky!)).toBeLessThan(0.15); // who foresaw it would gamble always, or never
  });

  it("is another one for every particle, and again after a resampling", () => {
    const keys: number[][] = [[], [], [], []];
    const walk = littleGame({ actions: 2, decide: () => undefined, reward: () => 0, terminated: () => false });
    const search = new Search(walk.game, walk.spec, settings(4, 5));
    const ignore = () => undefined;
    search.decide(samePolicy([0.5, 0.5], 0), rootOf(walk.game.create()), nobody, {
      begin: ignore,
      resampled: ignore,
      ended: ignore,
      moved: (k, { rng_key }) => void keys[k]!.push(rng_key[0]!),
    });
    for (const [first, , , fourth, fifth] of keys) {
      expect(fourth).toBe(first);
      expect(fifth).not.toBe(first);
    }
    expect(new Set(keys.flat()).size).toBe(8);
  });
});

describe("a real game of two", () => {
  const game = loadRules(TOY.javascript);
  const weights = Float32Array.from({ length: 4 * 8 + 9 * 7 }, (_, k) => Math.sin(12.9898 * (k + 1)) * 1.2);
  const policy = new Policy(1, [3, 8, 7], "tanh", weights);
  const begun = () => {
    const s = game.create();
    s.rng_key[0] = 7;
    game.reset(s);
    return s;
  };
  const decided = (seed: number, state = begun()) => {
    const search = new Search(game, TOY.spec, settings(16, 8, 0.99));
    search.decide(policy, rootOf(state, seed, 4), (_, __, random) => Math.floor(6 * random.next()));
    return [...search.target];
  };

  it("is decided by the seed", () => {
    expect(decided(3)).toEqual(decided(3));
    expect(decided(3)).not.toEqual(decided(4));
  });

  it("is left as it is", () => {
    const state = begun();
    const before = [...new Uint8Array(state.buffer)];
    decided(3, state);
    expect([...new Uint8Array(state.buffer)]).toEqual(before);
  });

  it("asks the other side on the copies", () => {
    const search = new Search(game, TOY.spec, settings(4, 2));
    const state = begun();
    const asked: number[] = [];
    search.decide(policy, rootOf(state, 1, 4), (copy, side) => {
      expect(copy.buffer).not.toBe(state.buffer);
      asked.push(side);
      return 0;
    });
    expect(asked).toEqual(Array(8).fill(1));
  });
});

describe("weights", () => {
  const gains = Float64Array.from([0.3, -1, 2, 0.7, 0, 0.1, -0.4, 0.9]);
  const weights = new Float64Array(8);

  it("are as far from uniform as asked, whatever the unit of the reward", () => {
    for (const unit of [1e-4, 1, 1e5]) {
      const scaled = gains.map((gain) => gain * unit);
      weigh(scaled, 8, temperatureOf(scaled, 8, 0.5, weights), weights);
      expect(weights.reduce((sum, w) => sum + w * Math.log(8 * w), 0)).toBeCloseTo(0.5, 4);
    }
  });

  it("are equal where no particle differs, and where there is only one", () => {
    weigh(new Float64Array(8), 8, temperatureOf(new Float64Array(8), 8, 0.5, weights), weights);
    expect([...weights]).toEqual(Array(8).fill(1 / 8));
    expect(sampleSize(weights, 8)).toBeCloseTo(8, 9);
    expect(temperatureOf(gains, 1, 0.5, weights)).toBe(Infinity);
  });
});
