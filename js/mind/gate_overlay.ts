/**
 * What the gate shows on the map: the expected reward of a spawn in every chunk, blue above the threshold and orange below it, and
 * a ring around what was proposed last. Reads the match, never writes to it.
 */
import { EXPECTED_RANGE, type GateSettings, KIND, type Proposal, type SpawnKind, type Theme } from "../contract/protocol";
import { CHUNKS, type Gate, KINDS, SIDE, type Territory } from "../match/gate";
import type { Show } from "../match/show";
import { FieldImage } from "../renderer/field";
import type { Look } from "../renderer/palette";
import { type Field, putShape } from "../renderer/scene";
import { EasedImage } from "./eased_image";

const PAINTS: Record<SpawnKind, string> = { energy: "player0", combat: "target" }; // palette names
const APPEAR = 0.25; // seconds
const VANISH = 0.8;
const RADIUS = 0.66; // chunks
const DASHES = 8; // of a blocked proposal's ring
const FAINT = 0.75; // its opacity
const MOST_MARKS = 2; // the last proposal, and the one before while it vanishes
export const GATE_SHAPES = 2 * DASHES * MOST_MARKS;

/** A ring that appears at a proposal and vanishes at the next one. */
interface Mark {
  proposal: Proposal;
  alpha: number;
}

export class GateOverlay {
  private readonly map = new EasedImage(new FieldImage(SIDE, SIDE, [-0.5, -0.5, SIDE - 0.5, SIDE - 0.5], "cells"), CHUNKS);
  private readonly excess = new Float32Array(CHUNKS); // expected reward less the threshold, row by row from the top
  private judged: { kind: number; changes: number; settings: GateSettings } | null = null; // what `excess` was computed from
  private marks: Mark[] = []; // the newest last

  constructor(private readonly show: Show) {}

  /** One frame later; whether anything moved. `expected`: the kind of spawn that the map is about. */
  advance(seconds: number, expected: SpawnKind | "", seen: boolean): boolean {
    const moved = this.fade(seconds);
    const { gate } = this.show.deciders.gatekeeper;
    if (!gate || !expected || !seen) return moved;
    this.judge(gate, KINDS.indexOf(expected));
    return this.map.toward(this.excess, EXPECTED_RANGE, seconds) || moved;
  }

  field(theme: Theme): Field | null {
    return this.show.deciders.gatekeeper.gate && this.map.field(theme);
  }

  shapes(out: Float32Array, count: number, look: Look): number {
    for (const { proposal, alpha } of this.marks) {
      const [x, y] = [proposal.chunk % SIDE, Math.floor(proposal.chunk / SIDE)];
      const colour = look.index(PAINTS[proposal.kind]);
      const ring = (paint: number, half: number, share: number, start: number, firm: number) =>
        putShape(out, count++, KIND.ring, paint, x, y, RADIUS, half, share, start, 0, alpha * firm, -1);
      for (const [paint, half] of [
        [look.index("line"), 0.15],
        [colour, 0.08],
      ] as const) {
        if (proposal.sent) ring(paint, half, 1, 0, 1);
        else for (let k = 0; k < DASHES; k++) ring(paint, half, 0.5 / DASHES, (2 * Math.PI * k) / DASHES, FAINT);
      }
    }
    return count;
  }

  private judge(gate: Gate, kind: number): void {
    const { state, changes } = this.show;
    const { settings } = gate;
    const { judged } = this;
    if (judged?.kind === kind && judged.changes === changes && judged.settings === settings) return;
    this.judged = { kind, changes, settings };
    for (let chunk = 0; chunk < CHUNKS; chunk++) {
      const row = SIDE - 1 - Math.floor(chunk / SIDE); // y points up
      this.excess[row * SIDE + (chunk % SIDE)] = gate.worth(state as Territory, chunk, kind) - settings.threshold;
    }
  }

  private fade(seconds: number): boolean {
    const { latest, gate } = this.show.deciders.gatekeeper;
    const newest = this.marks.at(-1)?.proposal;
    if (gate && latest && latest.tick !== newest?.tick) this.marks.push({ proposal: latest, alpha: 0 });
    let moved = false;
    for (const mark of this.marks) {
      const goal = gate && mark.proposal.tick === latest?.tick ? 1 : 0;
      const before = mark.alpha;
      mark.alpha = goal ? Math.min(1, before + seconds / APPEAR) : Math.max(0, before - seconds / VANISH);
      moved ||= mark.alpha !== before;
    }
    this.marks = this.marks.filter(({ proposal, alpha }) => alpha > 0 || proposal.tick === latest?.tick).slice(-MOST_MARKS);
    return moved;
  }
}
