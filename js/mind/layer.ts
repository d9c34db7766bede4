/** One of the things that a feature lays over the match. */
import type { Theme } from "../contract/protocol";
import type { Look } from "../renderer/palette";
import type { Field } from "../renderer/scene";

export interface Layer {
  /** Shapes that it draws at most. */
  readonly most: number;
  /** One frame later; whether anything moved. `seen`: somebody sees it; `calm`: less motion is wanted. */
  advance(seconds: number, seen: boolean, calm: boolean): boolean;
  /** A map in the place of any other; null: none. */
  field?(theme: Theme): Field | null;
  /** Writes its shapes after the first `count`; returns the new count. */
  shapes(out: Float32Array, count: number, look: Look): number;
}
