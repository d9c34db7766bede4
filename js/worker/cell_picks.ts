/** Cells that a person who plays clicks or taps: which one is under a pointer, which one is chosen, and the outlines that show both. */

import { KIND, type PointerInput, type Theme } from "../contract/protocol";
import type { Show } from "../match/show";
import type { Look } from "../renderer/palette";
import { type Field, type Overlay, putShape } from "../renderer/scene";

const SLIP = 8; // CSS pixels that a click may move
const MOST_HOVERED = 2; // outlines; more pointers are rare
const HOVERED = 0.5; // strength of an outline
const CHOSEN = 1;

export class CellPicks implements Overlay {
  private dirty = false; // the outlines changed
  private readonly hovered = new Map<string, number>(); // by pointer
  private readonly pressed = new Map<string, { cell: number; x: number; y: number }>();

  constructor(
    private readonly show: Show,
    private readonly below: Overlay,
  ) {}

  /** Whether cells count now: the drill has some, and a person plays. */
  private get open(): boolean {
    const { deciders, spec } = this.show;
    return Boolean(spec.cells) && deciders.played(0);
  }

  /** `input` on canvas `view` is at x, y of the world, where a CSS pixel is `unit` world units. */
  receive(view: number, input: PointerInput, x: number, y: number, unit: number): void {
    if (!this.show.spec.cells) return;
    const key = `${view}/${input.pointer}`;
    const cell = this.cellAt(x, y);
    const press = this.pressed.get(key);
    if (input.kind === "down") this.pressed.set(key, { cell, x, y });
    if (input.kind === "up" || input.kind === "leave") this.pressed.delete(key);
    if (input.kind === "up" && press && this.open && press.cell >= 0 && Math.hypot(x - press.x, y - press.y) <= SLIP * unit) {
      this.show.chooseCell(press.cell);
    }
    const gone = input.kind === "leave" || (input.touch && input.kind === "up") || cell < 0;
    if (gone) this.hovered.delete(key);
    else this.hovered.set(key, cell);
    this.dirty = true;
  }

  /** The number of the cell at a point of the world, -1: none is there. */
  private cellAt(x: number, y: number): number {
    const { columns, rows, x0, y0, size } = this.show.spec.cells!;
    const [column, row] = [Math.floor((x - x0) / size), Math.floor((y - y0) / size)];
    return column >= 0 && column < columns && row >= 0 && row < rows ? row * columns + column : -1;
  }

  /** Whether they changed since the last call. */
  takeDirty(): boolean {
    const { dirty } = this;
    this.dirty = false;
    return dirty;
  }

  field(theme: Theme): Field | null {
    return this.below.field(theme);
  }

  /** Writes what lies below, then outlines: soft ones around hovered cells, a clear one around the chosen cell; returns the new count. */
  shapes(out: Float32Array, count: number, look: Look): number {
    count = this.below.shapes(out, count, look);
    if (!this.open) return count;
    for (const cell of [...this.hovered.values()].slice(0, MOST_HOVERED)) count = this.outline(out, count, look.index("line"), cell, HOVERED);
    const { spec, deciders } = this.show;
    const choice = spec.actions.findIndex(({ name }) => name === spec.cells!.choice);
    return this.outline(out, count, look.index("accent"), deciders.keys.chosenOf(choice), CHOSEN);
  }

  /** Four lines, a little inside the cell. */
  private outline(out: Float32Array, count: number, colour: number, cell: number, strength: number): number {
    const { columns, x0, y0, size } = this.show.spec.cells!;
    const half = 0.06 * size;
    const [left, low] = [x0 + (cell % columns) * size + half, y0 + Math.floor(cell / columns) * size + half];
    const [right, high] = [left + size - 2 * half, low + size - 2 * half];
    const sides = [
      [left, low, right, low],
      [right, low, right, high],
      [right, high, left, high],
      [left, high, left, low],
    ] as const;
    for (const [x, y, toX, toY] of sides) putShape(out, count++, KIND.line, colour, x, y, toX, toY, half, 0, 0, strength, -1);
    return count;
  }
}
