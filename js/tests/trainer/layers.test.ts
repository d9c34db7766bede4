import { describe, expect, it } from "vitest";
import type { DrillSpec } from "../../contract/protocol";
import { lacks } from "../../trainer/engines/gpu";
import { asNetwork, countFloats, parse, parts, shapesOf } from "../../trainer/layers";
import { makePlan } from "../../trainer/ppo/plan";
import type { Settings } from "../../trainer/settings";

const GRID = [80, -5, -5, -2, -4, -6, 16, 5]; // 3 planes of 25 cells and 5 more observations
const PAIRS = [31, -2, -3, -4, -5, -8, -16, 32, 9]; // 26 observations of items and spaces and 5 more
const PLACES = [28, -20, -20, -5, -5, -32, -12, -3, 32, 16, 1201]; // 25 observations of places and 3 more

describe("layers", () => {
  it("are dense, or have a grid or pairs in front", () => {
    expect(parse([5, 8, 4])).toEqual({ front: null, dense: [5, 8, 4], memory: 0 });
    expect(parse(GRID)).toMatchObject({ front: { kind: "grid", inputs: 75, features: 16 }, dense: [21, 16, 5] });
    expect(parse(PAIRS)).toMatchObject({ front: { kind: "pairs", inputs: 26, features: 16 }, dense: [21, 32, 17] });
  });

  it("may have places in front, which no plan has", () => {
    expect(parse(PLACES)).toMatchObject({ front: { kind: "places", inputs: 25, features: 32 }, dense: [35, 32, 16, 4] });
    expect(parse([...PLACES.slice(0, -1), 1200])).toBeNull();
    expect(() => makePlan(null!, PLACES, "relu", false)).toThrow("learns with the algorithm gate");
  });

  it("say where the weights of each begin", () => {
    const found = parts(PAIRS);
    expect(found.map(({ inputs, outputs }) => [inputs, outputs])).toEqual([
      [3, 8],
      [5, 8],
      [8, 16],
      [8, 16],
      [16, 1],
      [21, 32],
      [32, 17],
    ]);
    expect(found.map(({ at }) => at)).toEqual([0, 32, 80, 224, 368, 385, 1089]);
    expect(countFloats(shapesOf(asNetwork(PAIRS)))).toBe(1089 + 33 * 17);
  });

  it.each([
    { what: "outputs that are not the pairs", layers: [31, -2, -3, -4, -5, -8, -16, 32, 8] },
    { what: "traits that are no multiple of 8", layers: [31, -2, -3, -4, -5, -7, -16, 32, 9] },
    { what: "fewer observations than pairs read", layers: [25, ...PAIRS.slice(1)] },
    { what: "more than 256 sweeps", layers: [75, -5, -5, -2, -4, -257, 16, 5] },
    { what: "too many cells in all sweeps", layers: [32768, -128, -128, -1, -1, -256, 1, 31] },
    { what: "a table of places that takes gigabytes", layers: [28, -1, -1200, -1, -2, -1, -200, -1, 1, 1201] },
    { what: "four negative numbers", layers: [80, -5, -5, -2, -4, 16, 5] },
    { what: "nothing behind", layers: PAIRS.slice(0, 7) },
  ])("with $what are no network", ({ layers }) => {
    expect(parse(layers)).toBeNull();
    expect(() => asNetwork(layers)).toThrow("These layers are not those of a network");
  });

  it("with a memory have one more layer, which reads what it gave before", () => {
    expect(parse([2, 32, -16, 4])).toEqual({ front: null, dense: [2, 32, 4], memory: 16 });
    expect(shapesOf(asNetwork([2, 32, -16, 4]))).toEqual([
      [2, 32],
      [48, 64],
      [16, 4],
    ]);
    expect(parse([...GRID.slice(0, -1), -8, GRID.at(-1)!])).toBeNull();
  });

  it.each([GRID, PAIRS])("with something in front are not for the GPU", (...layers: number[]) => {
    const spec = { n_obs: layers[0], front: layers.filter((n) => n < 0), n_actions: layers.at(-1)! - 1 } as unknown as DrillSpec;
    const settings = { hidden_sizes: [layers.at(-2)!], separate_value_net: false } as Settings;
    expect(lacks(spec, settings)).toBe("It learns dense networks only.");
  });
});
