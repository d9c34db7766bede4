/** Things whose place is among the observations: two of them side by side, such as `ball ahead` and `ball left`, or `centre x` and `centre y`. */
import type { DrillSpec } from "../contract/protocol";

export interface Sight {
  name: string; // of the thing
  at: number; // its first observation; the other one follows
}

/** In the order of the observations. Whether they are a way from the player, and not something else, is known only in a game. */
export function sightsOf({ observations }: Pick<DrillSpec, "observations">): Sight[] {
  return observations.flatMap(({ name }, at) => {
    const [, thing, axis] = /^(.+) (ahead|x)$/.exec(name) ?? [];
    const next = `${thing} ${axis === "x" ? "y" : "left"}`;
    if (!thing || observations[at + 1]?.name !== next || thing === "own" || / ?(velocity|heading)$/.test(thing)) return [];
    return [{ name: thing.replace("way to the ", ""), at }];
  });
}
