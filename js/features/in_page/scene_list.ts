/** The arranged scenes of a page that trains by itself: dshq_widget/learning/scenes/arranged.py. */
import type { DrillSpec, SceneRow, Success } from "../../contract/protocol";
import { countWords, placesOf } from "../../contract/state";
import { type Measured, sceneKey } from "../../contract/training";

const MOST_SCENES = 8;
const HEAD = ["rng_key", "rng_count", "practice", "ticks"]; // what a scene does not fix

export class SceneList {
  private scenes = new Map<string, { words: Uint32Array; before: Success | null; now: Success | null }>();

  constructor(private readonly spec: DrillSpec) {}

  /** Adds a game's state, its bytes in hex, if it is not there. Throws an Error of one sentence. */
  add(state: string): void {
    this.put(wordsOf(state));
  }

  remove(key: string): void {
    this.scenes.delete(key);
  }

  /** Keeps the scenes, and forgets what came of them. */
  forget(): void {
    for (const scene of this.scenes.values()) scene.before = scene.now = null;
  }

  /** These scenes instead, with what is `known` of some. Throws an Error of one sentence, and changes nothing, where they are none. */
  restore(scenes: readonly Uint32Array[], known: readonly SceneRow[] = []): void {
    const others = new SceneList(this.spec);
    for (const words of scenes) others.put(words);
    this.scenes = others.scenes;
    for (const { key, before, now } of known) Object.assign(this.scenes.get(key) ?? {}, { before, now });
  }

  /** A trainer's results; those on scenes that are gone are left out. */
  measured(found: readonly Measured[]): void {
    for (const { key, share, version } of found) {
      const scene = this.scenes.get(key);
      if (!scene) continue;
      scene.now = { share, version };
      scene.before ??= scene.now;
    }
  }

  get words(): Uint32Array[] {
    return [...this.scenes.values()].map(({ words }) => words);
  }

  get rows(): SceneRow[] {
    return [...this.scenes].map(([key, { words, before, now }]) => ({ key, places: this.places(words), before, now }));
  }

  private put(words: Uint32Array): void {
    const { fields, name: drill } = this.spec;
    const size = countWords(fields);
    if (words.length !== size) throw new Error(`A scene of ${drill} has ${size} words, got ${words.length}.`);
    const scene = words.slice();
    const at = placesOf(fields);
    const numbers = new Float32Array(scene.buffer);
    for (const [name, type, length] of fields) {
      const held = numbers.subarray(at[name]!, at[name]! + (length || 1));
      if (type === "f32" && !held.every(Number.isFinite)) throw new Error(`A scene's numbers must be finite, but its ${name} is not.`);
      if (type === "bool" && scene.subarray(at[name]!, at[name]! + (length || 1)).some((value) => value > 1))
        throw new Error(`A scene's ${name} must be 0 or 1.`);
    }
    for (const [k, [x, y]] of this.places(scene).entries()) {
      const [x0, y0, x1, y1] = this.spec.world;
      if (x0 <= x && x <= x1 && y0 <= y && y <= y1) continue;
      throw new Error(
        `${this.spec.drag[k]!.name} is outside the world at ${Number(x.toPrecision(3))}, ${Number(y.toPrecision(3))}: put it inside ${this.spec.world.join(", ")}.`,
      );
    }
    for (const name of HEAD) scene[at[name]!] = 0;
    const key = sceneKey(scene); // equal for equal places and speeds
    if (this.scenes.has(key)) return;
    if (this.scenes.size >= MOST_SCENES) throw new Error(`The limit of ${MOST_SCENES} scenes is reached: remove one first.`);
    this.scenes.set(key, { words: scene, before: null, now: null });
  }

  private places(words: Uint32Array): [x: number, y: number][] {
    const numbers = new Float32Array(words.buffer, words.byteOffset, words.length);
    const at = placesOf(this.spec.fields);
    const rounded = (word: number) => Math.round(1e4 * numbers[word]!) / 1e4;
    return this.spec.drag.map(({ x, y, index }) => [rounded(at[x]! + (index ?? 0)), rounded(at[y]! + (index ?? 0))]);
  }
}

/** A game's state from its bytes in hex. */
export function wordsOf(state: string): Uint32Array {
  const bytes = Uint8Array.from(state.match(/../g) ?? [], (pair) => Number.parseInt(pair, 16));
  return new Uint32Array(bytes.buffer.slice(0, bytes.length & ~3));
}
