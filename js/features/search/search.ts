/**
 * Search: plays copies of a state, particles, some decisions ahead with a policy and prefers the first actions of those that did better
 * than expected (docs/explain/search.md has words and formulas). The state is only read. Nothing is allocated per decision.
 */
import type { DrillSpec } from "../../contract/protocol";
import { type Policy, sample } from "../../match/network/policy";
import { Observer } from "../../match/observer";
import { Random } from "../../match/random";
import type { Game, GameState } from "../../match/rules";
import { weightOf } from "../../match/scores";
import type { SearchSettings } from "./messages";
import { sampleSize, temperatureOf, weigh } from "./particle_weights";

/** How another side decides on a copy of the game, by the search's own generator where it draws. */
export type Other = (copy: GameState, side: number, random: Random) => number;

/** Where a search starts, and what may differ from one to the next. */
export interface Root {
  state: GameState;
  side: number; // the one that searches
  actionRepeat: number; // ticks per decision
  seed: number; // of the actions drawn; games draw from their own
}

const STRIDE = 2; // decisions beyond the search from one look of the witness to the next

/** When particles are resampled, and how much better one must be to outweigh others. */
export interface Plan {
  period: number; // decisions between two resamplings
  least: number; // share of the particles; an effective sample size below it asks for resampling, too
  divergence: number; // KL(w, uniform) that the temperature of each decision aims at
  temperature: number | null; // the same for all decisions instead
}
export const PLAN: Plan = { period: 4, least: 0, divergence: 0.5, temperature: null };

/** Sees where the particles go; must not touch their states. */
export interface Witness {
  begin(root: GameState, side: number, particles: number): void;
  moved(particle: number, state: GameState, over: boolean, decisions?: number): void; // since it moved last, 1 if left out
  resampled(ancestors: Int32Array): void;
  ended(weights: Float64Array): void; // once more, with the same, where the particles have played on
}

/** One copy of the root. */
class Particle {
  readonly probabilities: Float32Array; // [n_actions] of its next action
  action = 0; // its root action
  value = 0; // the network's, of its state
  potential = 0; // weighted sum of the potentials there
  over = false; // its game has ended: it gains nothing more
  judged = 0; // the step after which the network judged it
  readonly observer: Observer;
  private readonly words: Uint32Array;

  constructor(
    readonly state: GameState,
    game: Game,
    spec: DrillSpec,
  ) {
    this.probabilities = new Float32Array(spec.n_actions);
    this.observer = new Observer(game, spec);
    this.words = new Uint32Array(state.buffer);
  }

  become(other: Particle): void {
    this.words.set(other.words);
    this.probabilities.set(other.probabilities);
    this.action = other.action;
    this.value = other.value;
    this.potential = other.potential;
    this.over = other.over;
    this.judged = 0;
  }
}

export class Search {
  readonly prior: Float32Array; // [n_actions] the policy at the root
  readonly target: Float32Array; // [n_actions] the weights of the particles whose root action it is
  readonly sizes: Float64Array; // [search_depth] effective sample size after each decision, before any resampling
  private witness: Witness | null = null; // of the last decision
  private readonly root: Particle;
  private readonly terms: Float32Array;
  private readonly weightOfTerm: Float64Array;
  private particles: Particle[];
  private spare: Particle[]; // those of before a resampling
  private readonly gains: Float64Array[]; // [search_depth + 1][num_particles] since the last resampling, after each decision
  private readonly weights: Float64Array; // [num_particles]
  private readonly ancestors: Int32Array; // [num_particles]
  private readonly random = new Random(0);
  private potential = 0; // the weighted sum of the potentials at the last earn()

  constructor(
    private readonly game: Game,
    private readonly spec: DrillSpec,
    readonly settings: SearchSettings,
    private readonly plan: Plan = PLAN,
  ) {
    const { num_particles: count, search_depth: depth } = settings;
    const particle = () => new Particle(game.create(), game, spec);
    this.root = particle();
    this.particles = Array.from({ length: count }, particle);
    this.spare = Array.from({ length: count }, particle);
    this.terms = new Float32Array(spec.terms.length);
    this.weightOfTerm = Float64Array.from(spec.terms, (term) => weightOf(term, settings.weights));
    this.prior = new Float32Array(spec.n_actions);
    this.target = new Float32Array(spec.n_actions);
    this.sizes = new Float64Array(depth);
    this.gains = Array.from({ length: depth + 1 }, () => new Float64Array(count));
    this.weights = new Float64Array(count);
    this.ancestors = new Int32Array(count);
  }

  /** The action of the largest target; `target`, `prior` and `sizes` are those of this decision from now on. */
  decide(policy: Policy, root: Root, other: Other, witness: Witness | null = null): number {
    this.witness = witness;
    const { gains, settings, plan } = this;
    const { num_particles: count, search_depth: depth } = settings;
    this.begin(policy, root);
    let since = 0; // the depth of the last resampling
    for (let step = 1; step <= depth; step++) {
      const now = gains[step]!;
      this.play(policy, root, other, step);
      const full = (step - since) % plan.period === 0;
      if (step === depth || !(full || (plan.least > 0 && this.weighed(now) < plan.least * count))) continue;
      this.settle(since, step);
      this.resample(step);
      since = step;
      now.fill(0);
    }
    this.settle(since, depth);
    this.witness?.ended(this.weights);
    this.target.fill(0);
    this.particles.forEach(({ action }, k) => (this.target[action]! += this.weights[k]!));
    let best = 0;
    for (let action = 1; action < this.target.length; action++) if (this.target[action]! > this.target[best]!) best = action;
    return best;
  }

  /** For the witness of the last decision: the particles play on by the policy for this number of decisions. What was decided stays. */
  playOn(policy: Policy, root: Root, other: Other, decisions: number): void {
    const { witness, particles, random } = this;
    if (!witness || decisions < STRIDE) return;
    for (let step = STRIDE; step <= decisions; step += STRIDE) {
      for (let k = 0; k < particles.length; k++) {
        const particle = particles[k]!;
        for (let one = 0; one < STRIDE && !particle.over; one++) {
          particle.observer.observe(particle.state, root.side).evaluate(policy);
          this.move(particle.state, sample(policy.probabilities, random.next()), root, other);
          particle.over = this.ended(particle.state);
          if (particle.over || one === STRIDE - 1) witness.moved(k, particle.state, particle.over, one + 1);
        }
      }
    }
    witness.ended(this.weights);
  }

  private begin(policy: Policy, { state, side, seed }: Root): void {
    const { root } = this;
    this.random.restart(seed);
    this.gains[0]!.fill(0);
    new Uint32Array(root.state.buffer).set(new Uint32Array(state.buffer));
    root.over = false;
    this.earn(root.state, side);
    root.potential = this.potential;
    this.judge(policy, root, side, 0, 0);
    this.prior.set(root.probabilities);
    this.particles.forEach((particle, k) => {
      particle.become(root);
      this.own(particle, k, 0);
    });
    this.witness?.begin(state, side, this.particles.length);
  }

  /** A generator of its own: the particle does not foresee what the match, or another one, will draw. */
  private own({ state }: Particle, k: number, depth: number): void {
    state.rng_key[0] = hash(this.root.state.rng_key[0]!, k, depth);
  }

  /** One decision of every living particle, the one that leads to depth `step`. */
  private play(policy: Policy, root: Root, other: Other, step: number): void {
    const { game, random, particles } = this;
    const { side } = root;
    const { gamma } = this.settings;
    const [past, now] = [this.gains[step - 1]!, this.gains[step]!];
    for (let k = 0; k < particles.length; k++) {
      const particle = particles[k]!;
      now[k] = past[k]!;
      if (particle.over) continue;
      const { state } = particle;
      const action = sample(particle.probabilities, random.next());
      if (step === 1) particle.action = action;
      this.move(state, action, root, other);
      const terminated = Boolean(game.terminated(state));
      particle.over = this.ended(state);
      const reward = this.earn(state, side);
      const [before, expected] = [particle.potential, particle.value];
      particle.potential = this.potential; // also where the game ended, as in training
      particle.value = 0;
      if (!terminated) this.judge(policy, particle, side, step, k);
      now[k]! += reward + gamma * particle.potential - before + gamma * particle.value - expected;
      this.witness?.moved(k, state, particle.over);
    }
  }

  /** One decision of a copy, in which the searching side does `action`. */
  private move(state: GameState, action: number, { side, actionRepeat }: Root, other: Other): void {
    // First the others: a script must not find in `action` what the searching side is about to do.
    for (let player = 0; player < this.spec.sides; player++) if (player !== side) state.action[player] = other(state, player, this.random);
    state.action[side] = action;
    this.game.decide(state);
    for (let tick = 0; tick < actionRepeat; tick++) this.game.tick(state);
  }

  private ended(state: GameState): boolean {
    return Boolean(this.game.terminated(state)) || state.ticks[0]! >= this.spec.time_limit;
  }

  /** What the network says of a particle's state. What one of the first `count` sees after this step, too, is judged only once. */
  private judge(policy: Policy, particle: Particle, side: number, step: number, count: number): void {
    const { observer } = particle;
    observer.observe(particle.state, side);
    particle.judged = step;
    for (let k = 0; k < count; k++) {
      const other = this.particles[k]!;
      if (other.judged !== step || !observer.equals(other.observer)) continue;
      particle.probabilities.set(other.probabilities);
      particle.value = other.value;
      return;
    }
    observer.evaluate(policy);
    particle.probabilities.set(policy.probabilities);
    particle.value = policy.value;
  }

  /** The weighted sum of the rewards of the decision that led here. */
  private earn(state: GameState, side: number): number {
    const { terms, spec, weightOfTerm } = this;
    this.potential = 0;
    if (terms.length === 0) return 0;
    this.game.terms(state, side, terms);
    let reward = 0;
    for (let k = 0; k < terms.length; k++) {
      const worth = weightOfTerm[k]! * terms[k]!;
      if (spec.terms[k]!.kind === "potential") this.potential += worth;
      else reward += worth;
    }
    return reward;
  }

  /** Fills `weights` from what was gained; their effective sample size. */
  private weighed(gains: Float64Array, temperature?: number): number {
    const { plan, weights } = this;
    const count = gains.length;
    weigh(gains, count, temperature ?? plan.temperature ?? temperatureOf(gains, count, plan.divergence, weights), weights);
    return sampleSize(weights, count);
  }

  /** The weights after decision `to`, and the sample sizes of all decisions after `from` at the temperature that they have. */
  private settle(from: number, to: number): void {
    const { plan, weights, sizes, gains } = this;
    const count = weights.length;
    const temperature = plan.temperature ?? temperatureOf(gains[to]!, count, plan.divergence, weights);
    for (let step = from + 1; step <= to; step++) sizes[step - 1] = this.weighed(gains[step]!, temperature);
  }

  /** As many particles drawn from `weights`, each with the root action of the one that it copies. */
  private resample(depth: number): void {
    const { particles, spare, ancestors, random } = this;
    for (let k = 0; k < particles.length; k++) {
      ancestors[k] = sample(this.weights, random.next());
      spare[k]!.become(particles[ancestors[k]!]!);
      this.own(spare[k]!, k, depth);
    }
    [this.particles, this.spare] = [spare, particles];
    this.witness?.resampled(ancestors);
  }
}

/** The key of a particle's generator; rounds of C. Wellons' `lowbias32` (2018, public domain), as the games' own draws have. */
function hash(key: number, particle: number, depth: number): number {
  return mix(mix(particle ^ Math.imul(depth + 1, 0x9e3779b9)) ^ key);
}

function mix(x: number): number {
  x = Math.imul(x ^ (x >>> 16), 0x7feb352d);
  x = Math.imul(x ^ (x >>> 15), 0x846ca68b);
  return (x ^ (x >>> 16)) >>> 0;
}
