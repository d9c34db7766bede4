/** Rates the policy against earlier ones and pinned opponents, and reverts it when it collapses: dshq_widget/learning/league/rounds.py. */
import type { DrillSpec, MetricsRow } from "../../contract/protocol";
import { general } from "../files/format";
import { type Tensors, tensor } from "../files/tensors";
import type { Kernels } from "../games/kernels";
import { slotCount } from "../games/rollouts";
import type { Competition, Contest, Play, Steered } from "../parts";
import type { Plan } from "../ppo/plan";
import { CollapseGuard } from "./collapse_guard";
import { League } from "./league";
import { rowsForPage } from "./league_rows";

export class Rounds implements Contest {
  readonly league: League;
  readonly guard = new CollapseGuard();
  private readonly pool: number; // opponents at once that are earlier policies

  constructor(
    private readonly run: Steered,
    private readonly spec: DrillSpec,
    plan: Plan,
    play: Play,
    kernels: Kernels,
  ) {
    this.league = new League(spec, plan.places.length, run.settings.seed, play, kernels);
    this.pool = slotCount(run.settings);
  }

  get metrics(): MetricsRow {
    return this.league.metrics;
  }

  /** The first snapshot of a run that has none, and the first opponents of the pool. One that continues from an earlier policy forgets the later ones. */
  begin(): void {
    const { league, pool } = this;
    league.goBack(this.run.agentSteps);
    if (league.empty && league.due(0, 0, 1)) this.holdRound();
    if (pool) this.run.engine.setOpponents(league.opponents.length === pool ? league.opponents : league.draw(pool));
  }

  /** Rates the policy when due, draws new opponents, and reverts to the champion if training has collapsed. */
  afterUpdate(learned: Record<string, number>): void {
    const { run, league, guard } = this;
    let problem = guard.afterUpdate(learned);
    if (league.due(run.updates, run.agentSteps, run.settings.snapshot_every)) {
      const fell = this.holdRound();
      problem ||= fell;
    }
    if (problem && run.settings.collapse_guard && league.best) this.revert(problem);
    if (this.pool && run.updates % this.rolloutsPerMatch === 0) run.engine.setOpponents(league.draw(this.pool));
  }

  weightsReplaced(): void {
    this.guard.startOver();
    this.league.succession.test.startOver();
  }

  rewardsChanged(): void {
    this.guard.startOver();
    this.league.succession.rewardsChanged();
  }

  /** As a policy file's tensors. */
  state(): Tensors {
    return { ...this.league.state(), "train.guard": tensor("F64", this.guard.state()) };
  }

  restore(state: Tensors): void {
    this.league.restore(state);
    const kept = state["train.guard"];
    if (kept) this.guard.restore(kept.data as Float64Array);
  }

  private revert(why: string): void {
    const { run } = this;
    const { weights, version } = this.league.best!;
    run.slowDown();
    run.replaceWeights(weights);
    run.warn(`reverted to champion v${version}; continuing with the learning rate times ${general(run.rate)}: ${why}`);
  }

  private holdRound(): string {
    const { run, league } = this;
    const problem = league.holdRound(run.engine.weights, run.version, run.agentSteps, run.updates, run.hyper, run.settings.collapse_guard);
    run.sendLeague(rowsForPage(league.rows()));
    return problem;
  }

  /** Rollouts until every match has ended: an opponent stays for that long. */
  private get rolloutsPerMatch(): number {
    const { time_limit, action_repeat } = this.spec;
    return Math.ceil(time_limit / (action_repeat * this.run.settings.rollout_length));
  }
}

/** The league as a competition. */
export const league: Competition = (...given) => new Rounds(...given);
