/** One thread of games: plays a rollout for each order, and sends a copy of its samples. */

import { layersOf } from "../ppo/network";
import { makePlan, pack } from "../ppo/plan";
import { readSettings } from "../settings";
import type { Block } from "./heap";
import type { FromLane, ToLane } from "./lanes";
import { Modules } from "./modules";
import { Rollouts } from "./rollouts";

type Begin = Extract<ToLane, { type: "LANE" }>;
export type Post = (message: FromLane, transfer: Transferable[]) => void;

/** What comes to such a thread. Whoever waits for a rollout hears of each order that could not be carried out. */
export class LaneOrders {
  private lane: Pick<LaneThread, "receive"> | null = null;
  private failure = ""; // games that missed an order are not those that were asked for

  constructor(
    private readonly post: Post,
    private readonly start: (order: Begin, post: Post) => Promise<Pick<LaneThread, "receive">> = LaneThread.start,
  ) {}

  async receive(message: ToLane): Promise<void> {
    try {
      if (message.type === "LANE") this.lane = await this.start(message, this.post);
      else if (!this.failure) this.lane?.receive(message);
    } catch (error) {
      this.failure = (error as Error).message;
    }
    if (this.failure && (message.type === "LANE" || message.type === "PLAY")) this.post({ type: "LANE_FAILED", text: this.failure }, []);
  }
}

export class LaneThread {
  private constructor(
    private readonly rollouts: Rollouts,
    private readonly plan: ReturnType<typeof makePlan>,
    private readonly params: Block,
    private readonly post: Post,
  ) {
    post({ type: "LANE_READY", units: rollouts.unitCount, trainable: rollouts.units }, []);
  }

  static async start(order: Begin, post: Post): Promise<LaneThread> {
    const modules = await Modules.load(order.spec, order.modules);
    const settings = readSettings(order.values);
    const plan = makePlan(modules, layersOf(order.spec, settings), settings.activation, settings.separate_value_net);
    const rollouts = new Rollouts(modules, plan, settings, order.games, order.seed, order.first);
    return new LaneThread(rollouts, plan, modules.heap.floats(plan.floats), post);
  }

  receive(message: ToLane): void {
    switch (message.type) {
      case "PLAY": {
        pack(this.plan, message.weights, this.params.f32);
        const { samples, stats } = this.rollouts.play(this.params.at, message.settings);
        const arrays = this.rollouts.copyOut(samples);
        this.post(
          { type: "PLAYED", arrays, stats },
          arrays.map(({ buffer }) => buffer),
        );
        return;
      }
      case "OPPONENTS":
        this.rollouts.setOpponents(message.policies);
        return;
      case "LANE_SCENES":
        this.rollouts.practise(message.scenes);
        return;
      case "MEND":
        this.rollouts.mend();
        return;
      case "LANE":
      case "END":
        return;
    }
  }
}
