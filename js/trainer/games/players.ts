/** Who plays a side: the codes of kernels/dshq_kernels/play/players.py. From 0 on it is the drill's baseline of that number. */
export const SELF = -1; // the learner
export const RANDOM = -2; // uniform actions
export const IDLE = -3; // action 0
export const POLICY = -16; // the network with `weights`; POLICY - k is the k-th given one

export interface Player {
  kind: number;
  weights?: Float32Array; // flat, of a policy
}

/** Plays `matches` from proper starts, sides swapped half way, and counts from the first player's view. */
export type Play = (first: Player, second: Player, matches: number, seed: number) => { wins: number; draws: number; losses: number };
