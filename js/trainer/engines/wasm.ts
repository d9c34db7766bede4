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
  private readonly learner: Learner;
  private games: Games;
  private opponents: readonly Float32Array[] = [];
  private scenes: readonly Uint32Array[] = [];
  private readonly alone: () => Rollouts; // all games in this thread

  constructor(
    modules: Modules,
    plan: Plan,
    settings: Settings,
    weights: Float32Array,
    private lanes: Lanes | null,
    private readonly comparison: Comparison | null = null,
    private readonly warn: (text: string) => void = () => {},
  ) {
    this.learner = new Learner(modules, plan, settings, weights);
    this.alone = () => new Rollouts(modules, plan, settings);
    this.games = lanes ?? this.alone();
  }

  get threads(): number {
    return this.lanes?.threads ?? 0;
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
    const experience = await this.next(settings);
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

  private async next(settings: Settings): Promise<Experience> {
    const { learner } = this;
    const rollout = () => this.games.next(learner.at, () => learner.weights, settings);
    if (!this.lanes) return rollout();
    try {
      return await rollout();
    } catch (error) {
      this.warn(`new games are played in the thread that learns, which is slower: ${(error as Error).message}`);
      this.lanes.close();
      this.lanes = null;
      this.games = this.alone();
      if (this.opponents.length) this.games.setOpponents(this.opponents);
      this.games.practise(this.scenes);
      return rollout();
    }
  }

  load(weights: Float32Array): void {
    this.learner.load(weights);
  }

  setOpponents(policies: readonly Float32Array[]): void {
    this.opponents = policies;
    this.games.setOpponents(policies);
  }

  practise(scenes: readonly Uint32Array[]): void {
    this.scenes = scenes;
    this.games.practise(scenes);
  }

  mend(): void {
    this.games.mend();
  }

  state(): Tensors {
    return { ...this.learner.state(), ...this.games.state() };
  }

  restore(state: Tensors, version: number): void {
    this.learner.restore(state);
    if (version > 0) this.learner.normalizer.trained();
    this.games.restore(state, version);
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
