/** The trainer that an exported page brings along (dshq_widget/widget/in_page/parts.py, `embedded`). */
import type { TrainerPackage } from "../../contract/training";
import { unpack, unpackBytes } from "../../session/host/unpack";
import { hasRelaxedSimd } from "./relaxed_simd";

/** A module for browsers without relaxed SIMD, and for those with it; gzip in base64. */
interface Builds {
  plain: string;
  relaxed: string;
}
/** What is the same for every drill. A page with several matches has it once, in a script that sets `dshqLearner`. */
interface SavedLearner {
  code: string; // of the worker, gzip in base64
  learner: Builds;
}
type SavedTrainer = Partial<SavedLearner> & { drill: Builds & { wgsl: string } }; // the rules for WebGPU, gzip in base64

/** Of the script "x-trainer", JSON. */
export async function trainerOf(text: string): Promise<TrainerPackage> {
  const saved = JSON.parse(text) as SavedTrainer;
  const { code, learner } = { ...(globalThis as { dshqLearner?: SavedLearner }).dshqLearner, ...saved };
  if (!code || !learner) throw new Error("This page lacks the learner's code: open it beside the files that it came with.");
  const build = hasRelaxedSimd() ? "relaxed" : "plain";
  const [worker, wgsl] = await Promise.all([unpack(code), unpack(saved.drill.wgsl)]);
  const [ofLearner, ofDrill] = await Promise.all([unpackBytes(learner[build]), unpackBytes(saved.drill[build])]);
  return { code: worker, modules: { learner: ofLearner, drill: ofDrill }, wgsl };
}
