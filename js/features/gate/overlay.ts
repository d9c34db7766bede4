/**
 * What the gate shows on the map: the expected reward of a spawn in every chunk, blue above the threshold and orange below it, and
 * a ring around what was proposed last. Reads the match, never writes to it.
 */
import { KIND, type Theme } from "../../contract/protocol";
import type { Show } from "../../match/show";
import { EasedImage } from "../../mind/eased_image";
import type { Layer } from "../../mind/layer";
import { FieldImage } from "../../renderer/field";
import type { Look } from "../../renderer/palette";
import { type Field, putShape } from "../../renderer/scene";
import { CHUNKS, type Gate, KINDS, SIDE, type Territory } from "./gate";
import type { Gatekeeper } from "./gatekeeper";
import { EXPECTED_RANGE, type GateSettings, type Proposal, type SpawnKind } from "./messages";

const PAINTS: Record<SpawnKind, string> = { energy: "player0", combat: "target" }; // palette names
const APPEAR = 0.25; // seconds
const VANISH = 0.8;
const RADIUS = 0.66; // chunks
const DASHES = 8; // of a blocked proposal's ring
const FAINT = 0.75; // its opacity
const MOST_MARKS = 2; // the last proposal, and the one before while it vanishes

/** A ring that appears at a proposal and vanishes at the next one. */
interface Mark {
  proposal: Proposal;
  alpha: number;
}

export class GateOverlay implements Layer {
  readonly most = 2 * DASHES * MOST_MARKS;
  private readonly map = new EasedImage(new FieldImage(SIDE, SIDE, [-0.5, -0.5, SIDE - 0.5, SIDE - 0.5], "cells"), CHUNKS);
  private readonly excess = new Float32Array(CHUNKS); // expected reward less the threshold, row by row from the top
  private judged: { kind: number; changes: number; settings: GateSettings } | null = null; // what `excess` was computed from
  private marks: Mark[] = []; // the newest last
  private expected: SpawnKind | "" = ""; // the kind of spawn that the map is about; "": there is no map
  private turned = false; // the map came or went since the last frame

  constructor(
    private readonly show: Show,
    private readonly gatekeeper: Gatekeeper,
  ) {}

  expect(kind: SpawnKind | ""): void {
    this.expected = kind;
    this.turned = true;
  }

  advance(seconds: number, seen: boolean): boolean {
    const moved = this.fade(seconds) || this.turned;
    this.turned = false;
    const { gate } = this.gatekeeper;
    if (!gate || !this.expected || !seen) return moved;
    this.judge(gate, KINDS.indexOf(this.expected));
    return this.map.toward(this.excess, EXPECTED_RANGE, seconds) || moved;
  }

  field(theme: Theme): Field | null {
    return this.gatekeeper.gate && this.expected ? this.map.field(theme) : null;
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
    const { latest, gate } = this.gatekeeper;
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
