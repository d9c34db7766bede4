/** The settings of the next update, with schedules and setbacks applied: learning/schedule.py and `Hyper.at`. */
import type { Settings } from "../settings";
import { FINAL_RATE, WARM_UP } from "../tables";

/** Settings of one update. */
export type Hyper = Pick<
  Settings,
  | ("learning_rate" | "epochs" | "minibatch_size" | "clip_epsilon" | "clip_value" | "value_coef" | "entropy_coef")
  | ("max_grad_norm" | "target_kl" | "normalize_advantages" | "minibatch_order" | "priority_alpha" | "priority_beta")
>;

/** How much of the schedules' length is over, 0..1. */
function shareDone({ total_agent_steps }: Settings, agentSteps: number): number {
  return Math.min(1, agentSteps / total_agent_steps);
}

/** The factor of the learning rate: it falls to `FINAL_RATE`, in a line or a cosine. */
function rateFactor(settings: Settings, agentSteps: number): number {
  const done = shareDone(settings, agentSteps);
  if (settings.lr_schedule === "linear") return 1 - (1 - FINAL_RATE) * done;
  if (settings.lr_schedule === "cosine") {
    const rise = Math.min(1, (done + 1e-3) / WARM_UP);
    return rise * (FINAL_RATE + ((1 - FINAL_RATE) * (1 + Math.cos(Math.PI * done))) / 2);
  }
  return 1;
}

/** The factor of the clip range. */
function clipFactor(settings: Settings, agentSteps: number): number {
  return settings.clip_schedule === "linear" ? 1 - (1 - FINAL_RATE) * shareDone(settings, agentSteps) : 1;
}

/** `rate` is the factor after setbacks, `bonus` is added to the entropy coefficient. */
export function hyperAt(settings: Settings, agentSteps: number, rate = 1, bonus = 0): Hyper {
  const done = shareDone(settings, agentSteps);
  const { priority_alpha, priority_beta, lr_schedule } = settings;
  return {
    epochs: settings.epochs,
    minibatch_size: settings.minibatch_size,
    clip_epsilon: settings.clip_epsilon * clipFactor(settings, agentSteps),
    clip_value: settings.clip_value,
    value_coef: settings.value_coef,
    max_grad_norm: settings.max_grad_norm,
    target_kl: settings.target_kl,
    normalize_advantages: settings.normalize_advantages,
    minibatch_order: settings.minibatch_order,
    priority_alpha,
    learning_rate: settings.learning_rate * rateFactor(settings, agentSteps) * rate,
    entropy_coef: settings.entropy_coef * (lr_schedule === "constant" ? 1 : 1 - done) + bonus,
    priority_beta: Math.min(1, priority_beta + (1 - priority_beta) * priority_alpha * done),
  };
}
