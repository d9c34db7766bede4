/** A network with a memory, step by step, for tests/algorithms/ppo/test_recurrent_page.py. */
import type { Activation } from "../../contract/protocol";
import { Policy } from "../../match/network/policy";

interface Episode {
  layers: number[];
  activation: Activation;
  weights: number[];
  observations: number[][];
  action: number;
}
interface Step {
  probabilities: number[];
  value: number;
  state: number[];
  slopes: number[]; // of log p(action) by the observation
}

export function rememberEpisodes(episodes: Episode[]): Step[][] {
  return episodes.map(({ layers, activation, weights, observations, action }) => {
    const policy = new Policy(1, layers, activation, Float32Array.from(weights));
    let state = policy.fresh();
    return observations.map((observation) => {
      policy.forward(Float32Array.from(observation), undefined, state);
      const slopes = new Float32Array(observation.length);
      policy.gradient(action, slopes);
      state = Float32Array.from(policy.remembered);
      return { probabilities: [...policy.probabilities], value: policy.value, state: [...state], slopes: [...slopes] };
    });
  });
}
