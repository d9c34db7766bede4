/**
 * Inspects the policy in a running match: updates the value map a few rows per frame, reports the chosen player's analysis a few
 * times a second, and follows alternative moves. Reads the match, never writes to it.
 *
 * Folder `mind`: what a policy thinks, and which policies there were. Reads matches, never changes their state.
 */

import type { DrillSpec, FromWorker, Handle, Outcome, Theme, ToWorker } from "../contract/protocol";
import { KIND } from "../contract/protocol";
import type { Policy } from "../match/network/policy";
import { Observer } from "../match/observer";
import { Random } from "../match/random";
import type { Show } from "../match/show";
import { FieldImage } from "../renderer/field";
import type { Look } from "../renderer/palette";
import { type Field, OVERLAY_SHAPES, type Overlay, putShape } from "../renderer/scene";
import { type Decide, PolicyAnalysis, position, sideOf } from "./analysis";
import { EasedImage } from "./eased_image";
import type { Layer } from "./layer";
import { PlayerSight, SIGHT_SHAPES } from "./sight";
import { COLUMNS, groundOf, ROWS, ValueMap } from "./value_map";

const ROWS_PER_FRAME = 2; // of the map: eight frames for all of it
const DOTS = 0.013; // of the world's width, between the dots of a way
const REACH = 0.09; // of the world's width: as near as this a click means a player

type Settings = Omit<Extract<ToWorker, { type: "INSPECT" }>, "type" | "id">;
type Report = Omit<Extract<FromWorker, { type: "MIND" }>, "type" | "id">;

export class Inspector implements Overlay {
  settings: Required<Settings> = { player: 0, map: false, sight: false, watch: false, weights: {} };
  private dirty = false; // something beside the match itself changed the picture
  private calm = false; // less motion is wanted
  private readonly analysis: PolicyAnalysis;
  private readonly map: ValueMap;
  private readonly eased: EasedImage;
  private readonly sight: PlayerSight;
  private reportDue = true; // a report is due at once
  private standing = false; // as last reported
  private outcomes: Outcome[] = [];
  private outcome = -1; // which of them is shown
  private imagined = -1; // `changes` of the show when they were imagined

  /** `layers`: what features lay over the match, from below. */
  constructor(
    private readonly show: Show,
    private readonly layers: readonly Layer[] = [],
  ) {
    const { game, spec, state, current } = show;
    this.analysis = new PolicyAnalysis(game, spec, (policy, side) => show.deciders.remembered(policy, side));
    this.map = new ValueMap(this.analysis);
    this.eased = new EasedImage(new FieldImage(COLUMNS, ROWS, groundOf(game, spec, state, current.slice())), COLUMNS * ROWS);
    this.sight = new PlayerSight(show);
  }

  private get spec(): DrillSpec {
    return this.show.spec;
  }

  setMotion(reduced: boolean): void {
    this.calm = reduced;
  }

  /** Throws an Error for a player whom the drill does not have. */
  configure(settings: Partial<Settings>): void {
    const player = settings.player ?? this.settings.player;
    if (!(Number.isInteger(player) && player >= 0 && player < this.spec.sides)) {
      throw new Error(`Player ${player} is unknown: choose one from 0 to ${this.spec.sides - 1}.`);
    }
    const { map, sight, watch, weights } = { ...this.settings, ...settings };
    this.settings = { player, map, sight, watch, weights };
    this.analysis.weigh(weights);
    this.requestReport();
  }

  /** Chooses the player at a point of the world, if there is one. */
  pick(x: number, y: number): void {
    const [x0, , x1] = this.spec.world;
    let nearest = REACH * (x1 - x0);
    for (const handle of this.spec.drag) {
      const [side, [hx, hy]] = [sideOf(handle, this.spec.sides), position(this.show.state, handle)];
      const distance = Math.hypot(hx - x, hy - y);
      if (side < 0 || distance >= nearest) continue;
      nearest = distance;
      this.configure({ player: side });
    }
  }

  /** What the chosen player's move and the likeliest others lead to; the way of the first is shown. Everybody else does the likeliest, or what a script says. */
  imagine(repeat: boolean): Outcome[] {
    const { state, actionRepeat } = this.show;
    const { player } = this.settings;
    const policy = this.show.deciders.policyOf(player);
    this.outcomes = policy ? this.analysis.imagine(policy, state, player, actionRepeat, repeat, this.others(policy)) : [];
    this.imagined = this.show.changes;
    this.showOutcome(0);
    return this.outcomes;
  }

  /** Shows the path of one outcome, -1: of none. */
  showOutcome(outcome: number): void {
    this.outcome = outcome >= 0 && outcome < this.outcomes.length ? outcome : -1;
    this.requestReport();
  }

  /** One frame later; whether there has to be another one even where the match stands still. */
  advance(seconds: number, seen: boolean): boolean {
    if (this.imagined !== this.show.changes) this.outcome = -1;
    const moved = this.layers.map((layer) => layer.advance(seconds, seen, this.calm)).includes(true); // all of them
    const mapped = this.advanceMap(seconds, seen);
    this.dirty ||= moved;
    return moved || mapped;
  }

  /** Whether something beside the match itself changed the picture since the last call. */
  takeDirty(): boolean {
    const { dirty } = this;
    this.dirty = false;
    return dirty;
  }

  private advanceMap(seconds: number, seen: boolean): boolean {
    if (!this.settings.map || !this.show.deciders.policy || this.spec.drag.length === 0 || !seen) return false;
    if (!this.map.busy) this.map.begin(this.show.deciders.policy, this.show.state, this.eased.image.area);
    if (this.map.fill(ROWS_PER_FRAME) && !this.show.playing) this.requestReport(); // for the legend
    const moved = this.eased.toward(this.map.values, this.map.range, seconds);
    this.dirty ||= moved;
    return moved || this.map.busy;
  }

  /** What is to be reported now, if anything: on the page's `beat`, or at once where somebody asked or the match stands. */
  report(beat: boolean, changed: boolean): Report | null {
    const wanted = (this.settings.watch || this.settings.map) && changed;
    const due = beat || !this.show.playing; // the last word before a pause is not left out
    const standing = this.outcomes.length > 0 && this.imagined === this.show.changes;
    if (!this.reportDue && standing === this.standing && !(wanted && due)) return null;
    this.reportDue = false;
    this.standing = standing;
    const { state } = this.show;
    const policy = this.show.deciders.policyOf(this.settings.player);
    const version = policy?.version ?? this.show.version;
    const thought = policy && this.settings.watch ? this.analysis.think(policy, state, this.settings.player) : null;
    return { player: this.settings.player, version, range: this.settings.map ? this.map.range : 0, standing, thought };
  }

  /** Who decides for the sides that are not asked about. */
  private others(policy: Policy): Decide {
    const { deciders, game, spec } = this.show;
    const { opponent } = deciders;
    const rng = new Random(1);
    const observer = new Observer(game, spec);
    return (copy, side) => {
      if (side === 0 || !deciders.scripted(side)) return this.analysis.likeliest(deciders.policyOf(side) ?? policy, copy, side, 1)[0]!.action;
      if (opponent === "random") return observer.randomAction(copy, side, rng.next());
      return game.baselines[opponent]?.(copy, side) ?? 0;
    };
  }

  // ---- the overlay

  field(theme: Theme): Field | null {
    for (const layer of this.layers) {
      const field = layer.field?.(theme);
      if (field) return field;
    }
    return this.settings.map ? this.eased.field(theme) : null;
  }

  shapes(out: Float32Array, count: number, look: Look): number {
    for (const layer of this.layers) count = layer.shapes(out, count, look);
    const { player, watch, sight } = this.settings;
    if (sight) count = this.sight.shapes(player, out, count, look);
    const width = this.spec.world[2] - this.spec.world[0];
    const mine = this.spec.drag.find((handle) => sideOf(handle, this.spec.sides) === player);
    if (watch && mine && this.spec.sides > 1) {
      const [x, y] = position(this.show.state, mine);
      putShape(out, count++, KIND.ring, look.index("line"), x, y, 0.062 * width, 0.0022 * width, 1, 0, 0, 0.9, -1);
    }
    const paths = this.outcomes[this.outcome]?.paths ?? [];
    const layered = this.layers.reduce((sum, { most }) => sum + most, 0);
    const room = Math.floor((OVERLAY_SHAPES - layered - SIGHT_SHAPES - 4) / Math.max(paths.length, 1));
    this.spec.drag.forEach((handle, index) => {
      if (paths[index]) count = this.drawPath(handle, paths[index], room, out, count, look);
    });
    return count;
  }

  /** Where one thing would go: dots that grow firmer, and a ring at its end. */
  private drawPath(handle: Handle, path: number[], room: number, out: Float32Array, count: number, look: Look): number {
    const [side, width] = [sideOf(handle, this.spec.sides), this.spec.world[2] - this.spec.world[0]];
    const colour = look.index(side < 0 ? "ball" : `player${side}`);
    const firm = side < 0 || side === this.settings.player ? 1 : 0.4;
    const full = count + room - 1;
    let [lastX, lastY] = [path[0]!, path[1]!];
    for (let k = 2; k < path.length && count < full; k += 2) {
      const [x, y] = [path[k]!, path[k + 1]!];
      if (Math.hypot(x - lastX, y - lastY) < DOTS * width) continue;
      const alpha = firm * (0.4 + (0.6 * k) / path.length);
      putShape(out, count++, KIND.circle, colour, x, y, 0.0042 * width, 0, 0, 0, 0, alpha, -1);
      [lastX, lastY] = [x, y];
    }
    const [x, y] = [path.at(-2)!, path.at(-1)!];
    const radius = (side < 0 ? 0.017 : 0.034) * width;
    putShape(out, count++, KIND.ring, colour, x, y, radius, 0.003 * width, 1, 0, 0, 0.9 * firm, -1);
    return count;
  }

  /** The answer comes, and is drawn, at the next frame. */
  private requestReport(): void {
    this.reportDue = true;
    this.dirty = true;
  }
}
