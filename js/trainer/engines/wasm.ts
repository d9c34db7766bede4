/** Plays and learns by WebAssembly, in this thread or with threads that play. */
import type { Tensors } from "../files/tensors";
import type { Experience, Games } from "../games/games";
import type { Lanes } from "../games/lanes";
import type { Modules } from "../games/modules";
import { Rollouts } from "../games/rollouts";
import { LANES } from "../games/samples";
import { Learner } from "../ppo/learner";
import type { Plan } from "../ppo/plan";
import type { Hyper } from "../ppo/schedule";
import type { Settings } from "../settings";
import type { Comparison } from "./comparison";
import type { Engine, Update } from "./engine";

export class WasmEngine implements Engine {
  readonly threads: number;
  private readonly learner: Learner;
  private readonly games: Games;

  constructor(
    modules: Modules,
    plan: Plan,
    settings: Settings,
    weights: Float32Array,
    lanes: Lanes | null,
    private readonly comparison: Comparison | null = null,
  ) {
    this.learner = new Learner(modules, plan, settings, weights);
    this.games = lanes ?? new Rollouts(modules, plan, this.learner.planBlock, settings);
    this.threads = lanes?.threads ?? 0;
  }

  get place(): string {
    return `in this page${this.comparison?.result ?? ""}`;
  }

  get weights(): Float32Array {
    return this.learner.weights;
  }

  async update(settings: Settings, hyper: Hyper): Promise<Update> {
    const { learner } = this;
    const begin = performance.now();
    const experience = await this.games.next(learner.at, () => learner.weights, settings);
    const played = performance.now();
    await this.comparison?.look(learner, experience, settings, hyper);
    const compared = performance.now();
    const before = learner.skipped;
    const learned = learner.update(experience, hyper);
    const { stats, units } = experience;
    return {
      agentSteps: units.length * LANES,
      stats,
      learned,
      skipped: learner.skipped - before,
      meanReturn: meanReturn(experience),
      rolloutMs: played - begin,
      updateMs: performance.now() - compared,
    };
  }

  load(weights: Float32Array): void {
    this.learner.load(weights);
  }

  setOpponents(policies: readonly Float32Array[]): void {
    this.games.setOpponents(policies);
  }

  practise(scenes: readonly Uint32Array[]): void {
    this.games.practise(scenes);
  }

  mend(): void {
    this.games.mend();
  }

  state(): Tensors {
    return { ...this.learner.state(), ...this.games.state() };
  }

  restore(state: Tensors, begun: boolean): void {
    this.learner.restore(state);
    this.learner.normalizer.fresh &&= !begun;
    this.games.restore(state);
  }

  close(): void {
    this.games.close();
    this.comparison?.close();
  }
}

function meanReturn({ samples, units }: Experience): number {
  const returns = samples.returns!.f32;
  let sum = 0;
  for (const unit of units) for (let at = unit * LANES; at < (unit + 1) * LANES; at++) sum += returns[at]!;
  return sum / (units.length * LANES);
}
