/**
 * Matches in an HTML file: the widget's page over saved traits, without a kernel. `dshq_widget/widget/export_html.py`
 * writes such files, of one match each; the traits stand in them as JSON, bytes as base64.
 */
import type { Model, Traits } from "./contract/model";
import type { PolicyTrait } from "./contract/protocol";
import type { TrainerPackage } from "./contract/training";
import widget from "./page";
import { hasRelaxedSimd } from "./session/training/relaxed_simd";
import { unpack, unpackBytes } from "./session/unpack";

type Handler = (...values: never[]) => void;
type SavedPolicy = Omit<PolicyTrait, "data"> & { data: string };
type Saved = Omit<Traits, "policy" | "rivals"> & { policy: SavedPolicy; rivals: Record<string, SavedPolicy> };

/** What ipywidgets' model does for a page, without a kernel: keeps traits and tells of their changes. */
class SavedModel implements Model {
  readonly standalone = true;
  private readonly listeners = new Map<string, Set<Handler>>();

  constructor(
    private readonly traits: Traits,
    readonly trainerPackage?: Promise<TrainerPackage>,
  ) {}

  get<K extends keyof Traits>(name: K): Traits[K] {
    return this.traits[name];
  }

  set<K extends keyof Traits>(name: K, value: Traits[K]): void {
    this.traits[name] = value;
    for (const handler of [...(this.listeners.get(`change:${name}`) ?? [])]) handler();
  }

  save_changes(): void {}

  send(): void {}

  on(event: string, handler: Handler): void {
    this.listeners.set(event, (this.listeners.get(event) ?? new Set()).add(handler));
  }

  off(event: string, handler: Handler): void {
    this.listeners.get(event)?.delete(handler);
  }
}

function traitsOf(text: string): Traits {
  const saved = JSON.parse(text) as Saved;
  const rivals = Object.fromEntries(Object.entries(saved.rivals).map(([name, policy]) => [name, withBytes(policy)]));
  return { ...saved, policy: withBytes(saved.policy), rivals };
}

function withBytes(policy: SavedPolicy): PolicyTrait {
  return { ...policy, data: Uint8Array.from(atob(policy.data), (letter) => letter.charCodeAt(0)) };
}

/** What a script holds: JSON, or that as gzip in base64. */
async function textOf(saved: HTMLScriptElement): Promise<string> {
  const text = saved.textContent!;
  return saved.type === "application/gzip" ? unpack(text) : text;
}

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
async function trainerOf(text: string): Promise<TrainerPackage> {
  const saved = JSON.parse(text) as SavedTrainer;
  const { code, learner } = { ...(globalThis as { dshqLearner?: SavedLearner }).dshqLearner, ...saved };
  if (!code || !learner) throw new Error("This page lacks the learner's code: open it beside the files that it came with.");
  const build = hasRelaxedSimd() ? "relaxed" : "plain";
  const [worker, wgsl] = await Promise.all([unpack(code), unpack(saved.drill.wgsl)]);
  const [ofLearner, ofDrill] = await Promise.all([unpackBytes(learner[build]), unpackBytes(saved.drill[build])]);
  return { code: worker, modules: { learner: ofLearner, drill: ofDrill }, wgsl };
}

// the match in script "x-match" plays in element "x"
for (const saved of document.querySelectorAll<HTMLScriptElement>('script[id$="-match"]')) {
  void textOf(saved).then((text) => {
    const trainer = document.getElementById(saved.id.replace(/-match$/, "-trainer"))?.textContent;
    const model = new SavedModel(traitsOf(text), trainer ? trainerOf(trainer) : undefined);
    const page = widget();
    page.initialize({ model });
    page.render({ model, el: document.getElementById(saved.id.replace(/-match$/, ""))! });
  });
}
