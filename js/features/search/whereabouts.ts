/**
 * Where a side's player is in any state of a drill: at its `drag` handle, else at the shape of the scene that is drawn in its colour, or
 * that shows where it heads. And where the ball is, if there is one to drag.
 */
import { type DrillSpec, type Handle, KIND, SHAPE_FLOATS } from "../../contract/protocol";
import type { Game, GameState } from "../../match/rules";
import { position, sideOf } from "../../mind/analysis";

export const BALL = -1; // in place of a side

const ALPHA = 9; // of a shape's floats
const PLACED: readonly number[] = [KIND.circle, KIND.box, KIND.ring]; // by their middle

export class Whereabouts {
  x = 0; // world units, of the last read()
  y = 0;
  private handle: Handle | undefined;
  private shape = -1; // of the scene, -1: none
  private readonly scene: Float32Array;

  constructor(
    private readonly game: Game,
    private readonly spec: DrillSpec,
  ) {
    this.scene = new Float32Array(spec.scene_max * SHAPE_FLOATS);
  }

  /** Looks for the player of `side`, or the BALL; false where there is nothing to follow. */
  find(state: GameState, side: number): boolean {
    const { drag, sides, palette } = this.spec;
    this.handle = drag.find((handle) => (side === BALL ? handle.kind === "ball" : sideOf(handle, sides) === side));
    const count = this.handle || side === BALL ? 0 : this.game.scene(state, this.scene);
    const painted = (name: string) => {
      const colour = palette.indexOf(name);
      const shapes = Array.from({ length: count }, (_, k) => k * SHAPE_FLOATS);
      return shapes.filter((at) => this.scene[at + 1] === colour && this.scene[at + ALPHA]! > 0 && PLACED.includes(this.scene[at]!));
    };
    const [headings, bodies] = [painted("heading"), painted(`player${side}`)];
    this.shape = headings.length === 1 ? headings[0]! : (bodies[0] ?? -1);
    return this.handle !== undefined || this.shape >= 0;
  }

  /** Sets `x` and `y`, once it was found. */
  read(state: GameState): void {
    if (this.handle) {
      [this.x, this.y] = position(state, this.handle);
      return;
    }
    this.game.scene(state, this.scene);
    this.x = this.scene[this.shape + 2]!;
    this.y = this.scene[this.shape + 3]!;
  }
}
