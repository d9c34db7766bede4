/**
 * Records a match for replay: seed or starting state, inputs and actions of every decision. Bounded: when a part is full, the part
 * before it is dropped, and the recording starts where that part ended.
 */
import { sha256 } from "@noble/hashes/sha2.js";
import { bytesToHex } from "@noble/hashes/utils.js";
import type { MatchInput, Recording, StampedInput } from "../contract/protocol";

const PART_ACTIONS = 60_000; // 1,000 s of a two-player drill at 30 decisions a second
const PART_INPUTS = 20_000;
/** Of a recording, which has two parts; what is done before one tick may come on top of a part's inputs. */
export const [MOST_ACTIONS, MOST_INPUTS] = [2 * PART_ACTIONS, 4 * PART_INPUTS];

type Start = Recording["start"];

class Part {
  readonly inputs: StampedInput[] = [];
  readonly actions: number[] = [];

  constructor(readonly start: Start) {}
}

export class MatchLog {
  private older: Part | null = null;
  private newer = new Part(null);

  constructor(
    private readonly mostActions = PART_ACTIONS,
    private readonly mostInputs = PART_INPUTS,
  ) {}

  /** Forget everything; the match begins here, at its reset (null) or in the middle. */
  begin(start: Start): void {
    this.older = null;
    this.newer = new Part(start);
  }

  get full(): boolean {
    return this.newer.actions.length >= this.mostActions || this.newer.inputs.length >= this.mostInputs;
  }

  /** Continue in a fresh part that begins at `start`. */
  turn(start: Start): void {
    this.older = this.newer;
    this.newer = new Part(start);
  }

  /** `deed` was done before tick `tick`. What is held and moved twice between two ticks was moved once. */
  addInput(tick: number, input: MatchInput): void {
    const inputs = this.newer.inputs;
    const last = inputs.at(-1);
    if (last?.tick === tick && last.kind === "hold" && input.kind === "hold" && last.handle === input.handle) inputs.pop();
    inputs.push({ tick, ...input });
  }

  /** The actions of all sides at one decision. */
  addActions(actions: Iterable<number>): void {
    this.newer.actions.push(...actions);
  }

  read(): Pick<Recording, "start" | "inputs" | "actions"> {
    const parts = this.older ? [this.older, this.newer] : [this.newer];
    return { start: parts[0]!.start, inputs: parts.flatMap((part) => part.inputs), actions: parts.flatMap((part) => part.actions) };
  }
}

/** A state's SHA-256 in hex. WebCrypto has one, but only asynchronously and only over https. */
export function stateHash(state: ArrayBuffer): string {
  return bytesToHex(sha256(new Uint8Array(state)));
}

/** The bytes of a state in hex. */
export function stateHex(state: ArrayBuffer): string {
  return bytesToHex(new Uint8Array(state));
}
