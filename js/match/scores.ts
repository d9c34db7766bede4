/**
 * Reward sums of the last finished games, term by term, so that new weights can be tried at any time, and one sentence on what
 * those weights would teach. Free of DOM and clock.
 */
import type { DrillSpec, Episode } from "../contract/protocol";
import type { Game, GameState } from "./rules";

export const KEPT = 20; // games

type Terms = DrillSpec["terms"];
export type Weights = Readonly<Record<string, number>>;

/** Listens to one match. Nothing is allocated per decision. */
export class Scores {
  readonly episodes: Episode[] = []; // oldest first
  changes = 0; // finished games so far
  private open: Episode | null = null;
  private readonly now: Float32Array[]; // [side][term]: potentials where the decision ended, values of rewards

  constructor(
    private readonly game: Game,
    private readonly spec: DrillSpec,
  ) {
    this.now = Array.from({ length: spec.sides }, () => new Float32Array(spec.terms.length));
  }

  /** A new game begins with this state. */
  begin(state: GameState): void {
    if (this.spec.terms.length === 0) return;
    const zeros = () => this.now.map((terms) => Array.from(terms, () => 0));
    this.open = { winner: 0, decisions: 0, after: zeros(), before: zeros() };
    this.readTerms(state);
  }

  /** A decision has been carried out. */
  decided(state: GameState): void {
    const { open, spec, now } = this;
    if (!open) return;
    open.decisions++;
    spec.terms.forEach(({ kind }, k) => {
      if (kind === "potential") now.forEach((terms, side) => (open.before[side]![k]! += terms[k]!));
    });
    this.readTerms(state);
    now.forEach((terms, side) => terms.forEach((value, k) => (open.after[side]![k]! += value)));
  }

  /** The game is over. */
  end(winner: number): void {
    if (!this.open) return;
    this.episodes.push({ ...this.open, winner });
    if (this.episodes.length > KEPT) this.episodes.shift();
    this.open = null;
    this.changes++;
  }

  /** The game that is under way was not seen from its start: it does not count. */
  forget(): void {
    this.open = null;
  }

  private readTerms(state: GameState): void {
    this.now.forEach((terms, side) => this.game.terms(state, side, terms));
  }
}

/** Players of the same fate, and what a game brought them. */
export interface Group {
  name: "won" | "lost" | "drawn" | "all";
  games: number;
  earned: number[]; // [term] mean over them, unweighted
}

/** Winners and losers, and those of drawn games; of one side all together. Only those that there are. */
export function groupsOf({ terms, sides }: DrillSpec, episodes: readonly Episode[], gamma: number): Group[] {
  const fates: Record<Group["name"], number[][]> = { won: [], lost: [], drawn: [], all: [] };
  for (const episode of episodes) {
    for (let side = 0; side < sides; side++) {
      const ahead = side === 0 ? episode.winner : -episode.winner;
      const fate = sides === 1 ? "all" : ahead > 0 ? "won" : ahead < 0 ? "lost" : "drawn";
      fates[fate].push(terms.map(({ kind }, k) => earned(kind, episode.after[side]![k]!, episode.before[side]![k]!, gamma)));
    }
  }
  return (["won", "lost", "drawn", "all"] as const).flatMap((name) => {
    const games = fates[name].length;
    const mean = (k: number) => fates[name].reduce((sum, row) => sum + row[k]!, 0) / games;
    return games > 0 ? [{ name, games, earned: terms.map((_, k) => mean(k)) }] : [];
  });
}

/** A potential pays gamma phi(s') - phi(s) at every decision (Ng, Harada and Russell, 1999), as training does. */
function earned(kind: Terms[number]["kind"], after: number, before: number, gamma: number): number {
  return kind === "potential" ? gamma * after - before : after;
}

/** What one game brings such a player, all terms together. */
export function totalOf(terms: Terms, group: Group, weights: Weights): number {
  return terms.reduce((sum, term, k) => sum + weightOf(term, weights) * group.earned[k]!, 0);
}

export function weightOf(term: Terms[number], weights: Weights): number {
  return weights[term.name] ?? term.weight;
}

const NOTHING = 1e-6; // of reward

/** What these weights would teach, judged by games that were played; "" where there are none. */
export function insight(terms: Terms, groups: readonly Group[], weights: Weights, write: (reward: number) => string): string {
  if (groups.length === 0) return "";
  const parts = (group: Group) => terms.map((term, k) => weightOf(term, weights) * group.earned[k]!);
  if (groups.every((group) => parts(group).every((part) => Math.abs(part) < NOTHING))) {
    return "With these weights, nothing in these games is rewarded. There is nothing to learn.";
  }
  const total = (name: Group["name"]) => groups.filter((group) => group.name === name).map((group) => totalOf(terms, group, weights))[0];
  const [won, lost, drawn] = [total("won"), total("lost"), total("drawn")];
  if (won !== undefined && lost !== undefined) {
    if (lost >= won)
      return `With these weights, losing pays at least as much as winning (${write(lost)} vs ${write(won)} per game). It would not learn to win.`;
    if (drawn !== undefined && drawn >= won)
      return `With these weights, a draw pays at least as much as a win (${write(drawn)} vs ${write(won)} per game). It would learn to stall.`;
    const gaps = terms.map((term, k) => weightOf(term, weights) * (groups[0]!.earned[k]! - groups[1]!.earned[k]!));
    return `With these weights, winning pays ${write(won - lost).replace(/^\+/, "")} more than losing, mostly from ${largest(terms, gaps)}.`;
  }
  const group = groups[0]!;
  const nobody = group.name === "drawn" ? "Nobody has won yet. " : "";
  return `${nobody}With these weights, a game pays ${write(totalOf(terms, group, weights))}, mostly from ${largest(terms, parts(group).map(Math.abs))}.`;
}

function largest(terms: Terms, parts: readonly number[]): string {
  return spoken(terms[parts.indexOf(Math.max(...parts))]!.name);
}

/** A term's name as words. */
export function spoken(name: string): string {
  return name.replaceAll("_", " ");
}

/** Weights as settings carry them: "goal=1,approach=3". What is no number is left out. */
export function readWeights(text: string): Record<string, number> {
  const pairs = text.split(",").flatMap((pair) => {
    const [name, weight] = pair.split("=").map((word) => word.trim());
    return name && weight && Number.isFinite(Number(weight)) ? [[name, Number(weight)] as const] : [];
  });
  return Object.fromEntries(pairs);
}

/** The same backwards: those that differ from the drill's own, with six digits. */
export function writeWeights(terms: Terms, weights: Weights): string {
  const changed = terms.filter((term) => weightOf(term, weights) !== term.weight);
  return changed.map((term) => `${term.name}=${Number(weightOf(term, weights).toPrecision(6))}`).join(",");
}
