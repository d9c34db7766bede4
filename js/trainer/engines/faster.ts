/**
 * WebAssembly at first, and the page's GPU from the moment when that was measured to be faster. Whoever holds it need not know which. Back to
 * WebAssembly where the GPU fails, or is asked for what it lacks.
 */
import type { Tensors } from "../files/tensors";
import type { Hyper } from "../ppo/schedule";
import type { Settings } from "../settings";
import type { Engine, Update } from "./engine";

const LOOK_MS = 2_000; // of WebAssembly first: the first versions come at once, and its rate is known
const LOOK_UPDATES = 3;
const PATIENCE_S = 120; // a GPU that has not answered by then never does; the page waits longer for a word (features/in_page/trainer_thread.ts)

/** An engine that takes over. */
export interface Away extends Engine {
  /** Whether it can do the next update with these settings. */
  fits(settings: Settings): boolean;
}

/** What the other engine begins with, and has to beat: agent steps a second. */
export interface Beginning {
  settings: Settings;
  hyper: Hyper;
  weights: Float32Array;
  state: Tensors;
  version: number; // that the run continued from
  rates: { learning: number; whole: number };
}

/** Opens the other engine; null where it is not faster, or cannot do this. Rejects with an Error of one sentence where it fails. */
export interface Other {
  open(beginning: Beginning): Promise<Away | null>;
  /** Open it at once. */
  forced: boolean;
}

export class FasterEngine implements Engine {
  private away: Away | null = null;
  private scenes = 0;
  private since = performance.now();
  private updates = 0; // by WebAssembly, since then
  private steps = 0; // of them, but the first
  private readonly spent = { learning: 0, whole: 0 }; // ms, for these steps

  constructor(
    private readonly home: Engine,
    private other: Other | null,
    private readonly warn: (text: string) => void,
    private readonly version = 0,
  ) {}

  get place(): string {
    return this.present.place;
  }

  get threads(): number {
    return this.present.threads;
  }

  get weights(): Float32Array {
    return this.present.weights;
  }

  async update(settings: Settings, hyper: Hyper): Promise<Update> {
    if (this.away && (this.scenes > 0 || !this.away.fits(settings))) this.comeHome(this.away);
    if (!this.away && this.other && this.due(this.other)) await this.look(this.other, settings, hyper);
    if (!this.away) return this.counted(await this.home.update(settings, hyper));
    const before = this.away.weights;
    try {
      const update = await inTime(this.away.update(settings, hyper));
      if (update.skipped || !this.away.weights.every(Number.isFinite)) throw new Error("a result was not finite");
      return update;
    } catch (error) {
      this.warn(`training continues without the GPU, from the last published weights and with a fresh optimiser: ${(error as Error).message}`);
      this.away.close();
      this.away = this.other = null;
      this.home.load(before);
      return this.home.update(settings, hyper);
    }
  }

  load(weights: Float32Array): void {
    this.present.load(weights);
  }

  setOpponents(policies: readonly Float32Array[]): void {
    this.home.setOpponents(policies);
  }

  practise(scenes: readonly Uint32Array[]): void {
    this.scenes = scenes.length;
    this.home.practise(scenes);
  }

  mend(): void {
    this.present.mend();
  }

  state(): Tensors {
    return this.present.state();
  }

  restore(state: Tensors, version: number): void {
    this.present.restore(state, version);
  }

  close(): void {
    this.away?.close();
    this.home.close();
  }

  private get present(): Engine {
    return this.away ?? this.home;
  }

  private due({ forced }: Other): boolean {
    if (this.scenes > 0) return false;
    return forced || (this.updates >= LOOK_UPDATES && performance.now() - this.since >= LOOK_MS);
  }

  private async look({ open }: Other, settings: Settings, hyper: Hyper): Promise<void> {
    const { home, steps, spent } = this;
    const rates = { learning: (1000 * steps) / spent.learning, whole: (1000 * steps) / spent.whole };
    const opening = open({ settings, hyper, weights: home.weights, state: home.state(), version: this.version, rates });
    try {
      this.away = await inTime(opening);
    } catch (error) {
      void opening.then(
        (late) => late?.close(),
        () => undefined,
      );
      this.warn(`this page's GPU cannot train: ${(error as Error).message}`);
    }
    if (!this.away) this.other = null;
  }

  /** With the optimiser's state; the games are those of before. */
  private comeHome(away: Away): void {
    this.home.load(away.weights);
    this.home.restore(away.state(), 1);
    away.close();
    this.away = null;
    this.since = performance.now();
    this.updates = this.steps = this.spent.learning = this.spent.whole = 0;
  }

  private counted(update: Update): Update {
    this.updates += 1;
    if (this.updates > 1) {
      this.steps += update.agentSteps;
      this.spent.learning += update.updateMs;
      this.spent.whole += update.rolloutMs + update.updateMs;
    }
    return update;
  }
}

/** Rejects with an Error of one sentence where no answer comes. Seconds are counted one by one: a machine that slept is not held against it. */
function inTime<T>(answer: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    let waited = 0;
    const clock = setInterval(() => {
      waited += 1;
      if (waited < PATIENCE_S) return;
      clearInterval(clock);
      reject(new Error(`it has not answered for ${PATIENCE_S} s`));
    }, 1000);
    answer.then(resolve, reject).finally(() => clearInterval(clock));
  });
}
