/**
 * What search looks at, over the pitch: the ways of its particles, thick by weight, faint where they were given up. And what the page is
 * told of it. Reads the match; what it searches itself, while the match stands, is done on copies.
 */
import { KIND } from "../../contract/protocol";
import { optionsOf } from "../../match/network/policy";
import type { Show } from "../../match/show";
import type { Layer } from "../../mind/layer";
import type { Look } from "../../renderer/palette";
import { putShape } from "../../renderer/scene";
import { type FutureTree, FutureTrees } from "./future_tree";
import type { Futures as Report } from "./messages";
import type { Search } from "./search";
import type { Searcher } from "./searcher";

const MOST_SHAPES = 1536;
const SIGHT = 1.2; // seconds ahead that are drawn, whatever the search looks at
const HOLD = 0.1; // seconds that a tree stays at least; decisions may follow one another faster than eyes do
const MOST_SHARE = 0.15; // of the time, for looking further than the search does
const HOLD_CALM = 0.6; // where motion is not wanted
const APPEAR = 0.05; // seconds
const VANISH = 0.2;
const TREES = 6; // one that is recorded, the shown one, and those that vanish
const MOST_MOVES = 6;
const JUMP = 0.25; // of the world's width: a longer way in one decision is no movement
export const THIN = 0.0013; // half a line's width, of the world's
export const THICK = 0.0045; // the same at weight 1, in addition
const BALL = 0.0012; // of the world's width, that the ball's ways are wider
const EDGE = 0.0014; // of the world's width, around a line: what has the colour of the player is seen on the player, too
const FAINT = 0.22; // opacity at weight 0

interface Shown {
  trees: FutureTrees;
  alpha: number;
}

interface Pen {
  colour: number; // of the look
  margin: number;
  alpha: number;
  passed: number; // decisions
}

export class Futures implements Layer {
  readonly most = MOST_SHAPES;
  private calm = false; // less motion
  private readonly free: FutureTrees[];
  private shown: Shown[] = []; // the newest last
  private held = Infinity; // seconds since the newest came
  private looked: { search: Search; changes: number } | null = null; // what was searched while the match stood
  private told = false; // the page knows of futures

  constructor(
    private readonly show: Show,
    private readonly searcher: Searcher,
  ) {
    this.free = Array.from({ length: TREES }, () => new FutureTrees(show.game, show.spec));
  }

  advance(seconds: number, seen: boolean, calm: boolean): boolean {
    const { searcher } = this;
    this.calm = calm;
    const side = this.show.over ? -1 : searcher.side;
    this.held += Math.max(seconds, 0);
    this.present();
    const wanted = seen && side >= 0 && (this.due() || !this.show.playing);
    searcher.watchedBy((wanted && this.free.at(-1)) || null, SIGHT);
    if (side >= 0 && searcher.search && !this.show.playing && !this.show.skipping) this.look(searcher.search, side);
    this.present();
    return this.fade(seconds, side >= 0);
  }

  /** Whether the newest trees have stood for long enough, or the player has come half of the way. */
  private due(): boolean {
    const newest = this.shown.at(-1);
    const { search, sightMs } = this.searcher;
    const half = !this.calm && newest && search && 2 * this.passed(newest.trees) >= search.settings.search_depth;
    const paid = this.held >= sightMs / 1000 / MOST_SHARE; // looking costs the match no more than that
    return paid && (half || this.held >= (this.calm ? HOLD_CALM : HOLD));
  }

  /** Decisions since that search; negative in another game. */
  private passed({ ticks }: FutureTrees): number {
    return (this.show.state.ticks[0]! - ticks) / this.show.actionRepeat;
  }

  /** Searches once for a match that stands, whenever that or the search is another one. */
  private look(search: Search, side: number): void {
    const { state, tick, actionRepeat, changes } = this.show;
    if (this.looked?.search === search && this.looked.changes === changes) return;
    this.looked = { search, changes };
    this.searcher.decide({ state, side, tick, actionRepeat });
  }

  /** Shows what was recorded, if it is done. */
  private present(): void {
    const trees = this.free.at(-1);
    if (!trees?.takeDone()) return;
    this.free.pop();
    this.shown.push({ trees, alpha: 0 });
    this.held = 0;
  }

  private fade(seconds: number, on: boolean): boolean {
    let moved = false;
    for (const one of this.shown) {
      const rising = on && one === this.shown.at(-1);
      const before = one.alpha;
      const step = this.calm ? 1 : Math.max(seconds, 0) / (rising ? APPEAR : VANISH);
      one.alpha = rising ? Math.min(1, before + step) : Math.max(0, before - step);
      moved ||= one.alpha !== before;
    }
    while (this.shown.length > 0 && this.shown[0]!.alpha === 0 && (this.shown.length > 1 || !on)) this.free.push(this.shown.shift()!.trees);
    return moved;
  }

  shapes(out: Float32Array, count: number, look: Look): number {
    const full = count + MOST_SHAPES;
    for (let k = this.shown.length - 1; k >= 0; k--) {
      const { trees, alpha } = this.shown[k]!;
      const passed = this.passed(trees); // what lies behind the player is no future
      if (passed < 0) continue;
      const branches = (tree: FutureTree, paint: string, margin: number) => {
        count = this.draw(tree, { colour: look.index(paint), margin, alpha, passed }, out, count, full);
      };
      branches(trees.ball, "ball", BALL);
      branches(trees.player, "line", EDGE); // all edges below all lines
      branches(trees.player, `player${trees.side}`, 0);
    }
    return count;
  }

  /** The branches of a tree, `margin` of the world's width wider than they are. */
  private draw(tree: FutureTree, { colour, margin, alpha, passed }: Pen, out: Float32Array, count: number, full: number): number {
    const { x, y, parent, depth, weight, over } = tree;
    const [x0, , x1] = this.show.spec.world;
    const width = x1 - x0;
    for (let node = 1; node < tree.count && count + 2 <= full; node++) {
      if (depth[node]! <= passed) continue;
      const from = parent[node]!;
      const way = Math.hypot(x[node]! - x[from]!, y[node]! - y[from]!);
      if (way > JUMP * width) continue;
      const share = Math.sqrt(weight[node]!);
      const [half, firm] = [(THIN + THICK * share + margin) * width, alpha * (FAINT + (1 - FAINT) * share)];
      if (way > 0) putShape(out, count++, KIND.line, colour, x[from]!, y[from]!, x[node]!, y[node]!, half, 0, 0, firm, -1);
      if (over[node]) putShape(out, count++, KIND.circle, colour, x[node]!, y[node]!, half + (THIN + THICK * share) * width, 0, 0, 0, 0, firm, -1);
    }
    return count;
  }

  /** The next message to the page; undefined: nothing new. */
  report(): Report | null | undefined {
    const { side, search, ms } = this.searcher;
    if (side < 0 || !search || ms === 0) {
      const news = this.told ? null : undefined;
      this.told = false;
      return news;
    }
    this.told = true;
    const { prior, target, sizes } = search;
    const likely = Array.from(prior, (_, action) => action).sort((a, b) => prior[b]! + target[b]! - prior[a]! - target[a]! || a - b);
    const choices = this.show.spec.actions.map(({ options }) => options.length);
    const moves = likely.slice(0, MOST_MOVES).map((action) => ({ action: optionsOf(action, choices), prior: prior[action]!, target: target[action]! }));
    return { side, moves, sizes: [...sizes], ms };
  }
}
