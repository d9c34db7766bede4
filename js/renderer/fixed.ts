/**
 * Finds the leading shapes of a scene that do not move, so that a renderer paints them once and copies them under every frame. Static
 * parts come first in a scene; where an earlier shape does move after all, the fixed part ends before it for good.
 */
import { SHAPE_FLOATS } from "../contract/protocol";
import type { Look } from "./palette";
import type { Picture } from "./scene";

export class FixedPart {
  count = 0; // shapes
  private kept = new Float32Array(0);
  private limit = Infinity;
  private look: Look | null = null;
  private width = 0; // device pixels
  private height = 0;

  /** What was painted is lost: the next update says that it must be painted again. */
  forget(): void {
    this.look = null;
    this.count = 0;
  }

  /** True when the fixed part must be painted again: at the start, after a change of size or theme, when it shrank. */
  update({ shapes, fixed, look }: Picture, width: number, height: number): boolean {
    let stale = look !== this.look || width !== this.width || height !== this.height;
    if (look.drill !== this.look?.drill) {
      this.limit = Infinity;
      this.count = 0;
    }
    let same = 0;
    while (same < this.count * SHAPE_FLOATS && shapes[same] === this.kept[same]) same++;
    if (same < this.count * SHAPE_FLOATS) this.limit = Math.floor(same / SHAPE_FLOATS);
    const count = Math.min(fixed, this.limit);
    if (count !== this.count) stale = true;
    if (!stale) return false;
    this.kept = shapes.slice(0, count * SHAPE_FLOATS);
    Object.assign(this, { count, look, width, height });
    return true;
  }
}
