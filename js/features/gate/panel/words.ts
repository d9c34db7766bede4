/** A proposal in words. */

import { capital } from "../../../contract/sentences";
import { signed } from "../../../ui/format";
import type { Proposal } from "../messages";

const SIDE = 20; // chunks along an edge

/** Such as "energy at 12, 7". */
export function nameOf({ kind, chunk }: Proposal): string {
  return `${kind} at ${chunk % SIDE}, ${Math.floor(chunk / SIDE)}`;
}

/** What came of a proposal, in few words. */
export function resultOf({ sent, components, outcome, survived }: Proposal): string {
  if (!sent) return components[3] ? "blocked" : "cannot pay";
  if (outcome === null) return "under way";
  return `brought ${signed(outcome)}${survived === null ? "" : survived ? ", lives" : ", dead"}`;
}

/** The same as a sentence. */
export function storyOf(proposal: Proposal, seconds: number): string {
  const { sent, components, outcome, survived } = proposal;
  const name = capital(nameOf(proposal));
  if (!sent) return `${name} was not sent: ${components[3] ? "the gate expected too little" : "the queen could not pay"}.`;
  if (outcome === null) return `${name} was sent. The outcome is known ${seconds} seconds later.`;
  const fate = survived === null ? "" : survived ? ", the parasite lives" : ", the parasite is dead";
  return `${name} brought ${signed(outcome)} in ${seconds} seconds${fate}.`;
}
