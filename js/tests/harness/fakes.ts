/** A kernel's end of the traits and a browser's worker, as far as the page can tell. */
import type { Model, Traits } from "../../contract/model";
import type { DrillSpec, FromWorker, MetricsRow, PageToKernel, TabName, ToWorker } from "../../contract/protocol";
import { SHOW_DEFAULTS } from "../../contract/tables";
import widget from "../../page";
import { registry } from "../../session/host/registry";
import { same } from "../../session/kernel/socket_model";
import { PLAIN } from "./plain";

export const spec: DrillSpec = {
  ...PLAIN,
  name: "ball",
  title: "Ball Drill",
  sides: 2,
  tick_rate: 120,
  action_repeat: 4,
  time_limit: 1200,
  world: [-4.6, -3, 4.6, 3],
  mirrored: true,
  fields: [],
  actions: [
    { name: "move", options: ["stop", "forward", "back"] },
    { name: "dash", options: ["no", "yes"] },
  ],
  n_actions: 6,
  keys: { KeyW: ["move", "forward"], ArrowUp: ["move", "forward"], KeyS: ["move", "back"], Space: ["dash", "yes"] },
  observations: [],
  n_obs: 4,
  terms: [],
  baselines: ["chaser"],
  drag: [],
  scene_max: 8,
  palette: [],
  rules_hash: "rules",
};

const setting = { label: "", help: "", unit: "", effect: "next update" as const };
const values = {
  learning_rate: 0.003,
  epochs: 1,
  hidden_sizes: [64, 64],
  lr_schedule: "linear",
  clip_value: false,
  opponents: "self=0.75,chaser=0.25",
  pace: 0,
};
export const config: Traits["config"] = {
  values,
  defaults: values,
  presets: {
    laptop: { label: "Fast laptop", help: "The drill's own.", values: { epochs: 1 } },
    classroom: { label: "Classroom", help: "For many.", values: { epochs: 2 } },
  },
  schema: {
    learning_rate: { ...setting, label: "Learning rate", help: "Adam's step size.", unit: "1/step", kind: "float", min: 0, max: 1 },
    epochs: { ...setting, kind: "int", min: 1, max: 100 },
    hidden_sizes: { ...setting, kind: "sizes", effect: "restart" },
    lr_schedule: { ...setting, kind: "choice", choices: ["constant", "linear"] },
    clip_value: { ...setting, kind: "bool" },
    opponents: { ...setting, kind: "shares", effect: "restart" },
    pace: { ...setting, kind: "float", min: 0, max: 1e9, effect: "now" },
  },
};

/** Keeps traits and tells listeners as ipywidgets does; `sent` is what the kernel would receive. */
export class FakeModel implements Model {
  readonly sent: PageToKernel[] = [];
  saves = 0;
  private readonly listeners = new Map<string, Set<(...values: never[]) => void>>();
  private readonly traits: Traits = {
    comm_id: "",
    drill: { spec, javascript: "return {}" },
    policy: { version: 0, step: 0, shape_hash: "", layers: [4, 7], activation: "tanh", data: new DataView(new ArrayBuffer(140)) },
    status: "idle",
    status_text: "",
    error: "",
    paused: false,
    controls: null,
    metrics: {},
    league: [],
    scenes: [],
    seat: {},
    rivals: {},
    config,
    show: { ...SHOW_DEFAULTS },
    snapshot: null,
    seq: 0,
  };

  constructor(traits: Partial<Traits> = {}) {
    Object.assign(this.traits, traits);
  }

  get<K extends keyof Traits>(name: K): Traits[K] {
    return this.traits[name];
  }

  set<K extends keyof Traits>(name: K, value: Traits[K]): void {
    if (same(this.traits[name], value)) return;
    this.traits[name] = value;
    this.fire(`change:${name}`);
  }

  save_changes(): void {
    this.saves++;
  }

  send(message: PageToKernel): void {
    this.sent.push(message);
  }

  on(event: string, handler: (...values: never[]) => void): void {
    this.listeners.set(event, (this.listeners.get(event) ?? new Set()).add(handler));
  }

  off(event: string, handler: (...values: never[]) => void): void {
    this.listeners.get(event)?.delete(handler);
  }

  fire(event: string, ...values: unknown[]): void {
    for (const handler of [...(this.listeners.get(event) ?? [])]) handler(...(values as never[]));
  }

  get listening(): number {
    return [...this.listeners.values()].reduce((sum, set) => sum + set.size, 0);
  }

  sentOf<T extends PageToKernel["type"]>(type: T): Extract<PageToKernel, { type: T }>[] {
    return this.sent.filter((message): message is Extract<PageToKernel, { type: T }> => message.type === type);
  }
}

/** The kernel's answer to a request for a policy file, the newest one. */
export function answerFile(model: FakeModel, name: string, problem = "", request = model.sentOf("SAVE_POLICY").at(-1)?.request): void {
  model.fire("msg:custom", { type: "POLICY_FILE", name, problem, request }, problem ? [] : [new DataView(new ArrayBuffer(9))]);
}

/** A worker that has a GPU, keeps what it is told and says what the test wants. */
export class FakeWorker {
  static readonly all: FakeWorker[] = [];
  readonly received: ToWorker[] = [];
  onmessage: ((event: { data: FromWorker }) => void) | null = null;
  onerror: unknown = null;

  constructor() {
    FakeWorker.all.push(this);
  }

  postMessage(message: ToWorker): void {
    this.received.push(message);
    const { id } = message;
    if (message.type === "PROBE") {
      this.say({ type: "CAPABILITIES", id, capabilities: { secure: true, gpu: true, device: true, error: "", offscreen: true } });
    }
    if (message.type === "INIT_CANVAS") {
      this.say({ type: "READY", id, view: message.view ?? 0, renderer: "webgpu", thread: "worker", reason: message.reason ?? "" });
    }
  }

  terminate(): void {}

  say(message: FromWorker): void {
    queueMicrotask(() => this.onmessage?.({ data: message }));
  }

  of<T extends ToWorker["type"]>(type: T): Extract<ToWorker, { type: T }>[] {
    return this.received.filter((message) => message.type === type) as Extract<ToWorker, { type: T }>[];
  }
}

/** What happy-dom lacks of a browser that can hand a canvas to a worker. */
export function installBrowser(): void {
  Object.assign(globalThis, { Worker: FakeWorker, OffscreenCanvas: class {} });
  Object.assign(HTMLCanvasElement.prototype, { transferControlToOffscreen: () => ({ handed: "over" }) });
  Object.defineProperty(document, "fullscreenEnabled", { value: true, configurable: true });
}

/** Lets the show host start, and promises and queued microtasks finish. */
export async function settle(): Promise<void> {
  await registry().host;
  await new Promise((resolve) => setTimeout(resolve, 0));
}

export function row(step: number, more: MetricsRow = {}): MetricsRow {
  return { agent_steps: step, return_mean: step / 10, ...more };
}

/** A widget on the page: its root, once it has settled, and what takes it off again. */
/** Selects a tab, as a person does. */
export function openTab(root: HTMLElement, name: TabName): void {
  root.querySelector<HTMLElement>(`[role="tab"][id$="-${name}-tab"]`)!.click();
}

/** Selects every tab that is there once, so that every panel is built, and the first one again. */
export function openAllTabs(root: HTMLElement): void {
  const tabs = [...root.querySelectorAll<HTMLElement>('[role="tab"]:not([hidden])')];
  for (const tab of [...tabs, ...tabs.slice(0, 1)]) tab.click();
}

export async function mount(model: FakeModel): Promise<{ root: HTMLElement; end: () => void }> {
  const { initialize, render } = widget();
  const el = document.createElement("div");
  document.body.append(el);
  const destroy = initialize({ model });
  const gone = render({ model, el });
  await settle();
  const end = () => {
    gone();
    destroy();
  };
  return { root: el.querySelector<HTMLElement>(".dshq-widget")!, end };
}
