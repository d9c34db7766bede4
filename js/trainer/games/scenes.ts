/** Plays arranged scenes at intervals and says how often side 0 wins from each: dshq_widget/learning/scenes/evaluation.py. */
import type { DrillSpec } from "../../contract/protocol";
import { type Measured, sceneKey } from "../../contract/training";
import { type Tensors, tensor } from "../files/tensors";
import type { Play, Post } from "../parts";
import { SCENES } from "../tables";
import { kindOf } from "./opponents";
import { POLICY, RANDOM } from "./players";

export class ScenePractice {
  private scenes: readonly Uint32Array[] = [];
  private known = new Set<string>(); // keys of those that have been played
  private playedAt = 0;
  private pause = 1000 * SCENES.pause_seconds;

  constructor(
    private readonly spec: DrillSpec,
    private readonly seed: number,
    private readonly play: Play,
    private readonly post: Post,
  ) {}

  set(scenes: readonly Uint32Array[]): void {
    this.scenes = scenes;
  }

  /** The scenes for a file. */
  state(): Tensors {
    const words = this.scenes.flatMap((scene) => [...scene]);
    return words.length ? { "train.scenes": tensor("U32", Uint32Array.from(words), [this.scenes.length, words.length / this.scenes.length]) } : {};
  }

  /** Measures, if it is time to: a new scene before the next update learns from it, all of them at intervals. */
  beforeUpdate(weights: Float32Array, version: number): void {
    const begin = performance.now();
    const fresh = this.scenes.some((scene) => !this.known.has(sceneKey(scene)));
    if (this.scenes.length === 0 || !(fresh || begin - this.playedAt >= this.pause)) return;
    const player = { kind: POLICY, weights };
    const scripted = this.spec.baselines[0];
    const other = { kind: scripted ? kindOf(scripted, this.spec) : RANDOM };
    const rows: Measured[] = this.scenes.map((scene) => {
      const { wins } = this.play(player, other, SCENES.matches, this.seed, scene);
      return { key: sceneKey(scene), share: wins / SCENES.matches, version };
    });
    this.post({ type: "SCENES", rows });
    this.playedAt = performance.now();
    this.pause = Math.max(1000 * SCENES.pause_seconds, (this.playedAt - begin) / SCENES.most_share);
    this.known = new Set(rows.map(({ key }) => key));
  }
}
