/**
 * Matches in an HTML file: the widget's page over saved traits, without a kernel. `dshq_widget/widget/export_html.py`
 * writes such files, of one match each; the traits stand in them as JSON, bytes as base64.
 */
import type { Model, Traits } from "./contract/model";
import type { PolicyTrait } from "./contract/protocol";
import widget from "./page";
import { unpack } from "./session/host/unpack";

type Handler = (...values: never[]) => void;
type SavedPolicy = Omit<PolicyTrait, "data"> & { data: string };
type Saved = Omit<Traits, "policy" | "rivals"> & { policy: SavedPolicy; rivals: Record<string, SavedPolicy> };

/** What ipywidgets' model does for a page, without a kernel: keeps traits and tells of their changes. */
class SavedModel implements Model {
  readonly standalone = true;
  private readonly listeners = new Map<string, Set<Handler>>();

  constructor(
    private readonly traits: Traits,
    readonly trainer?: string,
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

// the match in script "x-match" plays in element "x"
for (const saved of document.querySelectorAll<HTMLScriptElement>('script[id$="-match"]')) {
  void textOf(saved).then((text) => {
    const trainer = document.getElementById(saved.id.replace(/-match$/, "-trainer"))?.textContent;
    const model = new SavedModel(traitsOf(text), trainer ?? undefined);
    const page = widget();
    page.initialize({ model });
    page.render({ model, el: document.getElementById(saved.id.replace(/-match$/, ""))! });
  });
}
