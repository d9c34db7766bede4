/** Search in matches of trained policies: the time of a decision, and what searching is worth. benchmarks/search_page.py runs it in a browser. */
import type { Activation, DrillTrait, SearchSettings } from "../../contract/protocol";
import { Policy } from "../../match/policy";
import { loadRules } from "../../match/rules";
import { Show } from "../../match/show";

interface Weights {
  version: number;
  layers: number[];
  activation: Activation;
  data: number[]; // float32
}

/** Milliseconds of each of `decisions` searches of side 0, and the score then. AI against AI: the other side does without. */
export function searchSpeed(drill: DrillTrait, policy: Weights, settings: SearchSettings | null, decisions: number) {
  const show = new Show(loadRules(drill.javascript), drill.spec, 1);
  show.setPolicy(new Policy(policy.version, policy.layers, policy.activation, Float32Array.from(policy.data).buffer));
  show.setMode("ai_vs_ai");
  show.deciders.searcher.set(settings);
  const times: number[] = [];
  const { searcher } = show.deciders;
  const decide = searcher.decide.bind(searcher);
  searcher.decide = (...given) => {
    const start = performance.now();
    const action = decide(...given);
    times.push(performance.now() - start);
    return action;
  };
  for (let k = 0; k < decisions; k++) show.stepBy("decision", 1);
  return { times, score: show.score, games: show.takeEvents().filter(({ kind }) => kind === "goal" || kind === "draw").length };
}
