import { describe, expect, it } from "vitest";
import type { ConfigSchemaEntry, DrillSpec } from "../../../contract/protocol";
import { sceneKey } from "../../../contract/training";
import { checkSetting } from "../../../session/settings/settings_check";
import { SceneList } from "../scene_list";

const entry = (kind: string, more: Partial<ConfigSchemaEntry> = {}): ConfigSchemaEntry => ({ label: "", help: "", unit: "", kind, effect: "now", ...more });

describe("a hyper-parameter that was changed in the page", () => {
  it.each([
    ["num_envs", "64", entry("int", { min: 16, max: 65536, multiple: 16 }), 64],
    ["gamma", "0.5", entry("float", { min: 0, max: 1 }), 0.5],
    ["clip_value", "true", entry("bool"), true],
    ["activation", "relu", entry("choice", { choices: ["tanh", "relu"] }), "relu"],
    ["hidden_sizes", "32, 64", entry("sizes", { min: 1, max: 1024 }), [32, 64]],
    ["opponents", "self=.75, random=.25,", entry("shares", { min: 0, max: 1 }), "self=0.75,random=0.25"],
    ["opponents", "random=0, self=1", entry("shares", { min: 0, max: 1 }), "self=1"],
    ["hidden_sizes", "32x64", entry("sizes", { min: 1, max: 1024 }), [32, 64]],
  ])("%s = %s is taken", (key, value, kind, wanted) => {
    expect(checkSetting(key, value, kind, ["self", "random"])).toEqual(wanted);
  });

  it.each([
    ["num_envs", "24", entry("int", { min: 16, max: 65536, multiple: 16 }), "num_envs must be a multiple of 16, got 24."],
    ["num_envs", "many", entry("int", { min: 16, max: 65536, unit: "games" }), "num_envs must be a whole number from 16 to 65536 games, got many."],
    ["gamma", "2", entry("float", { min: 0, max: 1 }), "gamma must be a number from 0 to 1, got 2."],
    ["gamma", "", entry("float", { min: 0, max: 1 }), "gamma must be a number from 0 to 1, got nothing."],
    ["clip_value", "maybe", entry("bool"), "clip_value must be true or false, got maybe."],
    ["activation", "gelu", entry("choice", { choices: ["tanh", "relu"] }), "activation must be one of tanh, relu, got gelu."],
    ["opponents", "self=.75", entry("shares", { min: 0, max: 1 }), "opponents must be shares that add to 1, like self=.75,random=.25, got self=.75."],
    ["opponents", "nobody=1", entry("shares", { min: 0, max: 1 }), "opponents must be among self, random, got nobody=1."],
  ])("%s = %s is refused with a sentence", (key, value, kind, sentence) => {
    expect(() => checkSetting(key, value, kind, ["self", "random"])).toThrow(sentence);
  });

  it("is refused where nobody knows it", () => {
    expect(() => checkSetting("no_such", 1, undefined)).toThrow("Unknown setting no_such.");
  });
});

const SPEC = {
  name: "toy",
  fields: [
    ["rng_key", "u32", 0],
    ["rng_count", "u32", 0],
    ["practice", "i32", 0],
    ["ticks", "i32", 0],
    ["action", "i32", 1],
    ["x", "f32", 2],
    ["won", "bool", 0],
  ],
  world: [-100, -100, 100, 100],
  drag: [{ name: "one", x: "x", y: "x", vx: "x", vy: "x", index: 1, kind: "ball" }],
} as unknown as DrillSpec;

function state(x: number, key = 7): string {
  const words = new Uint32Array(8);
  words[0] = key;
  new Float32Array(words.buffer)[6] = x;
  return [...new Uint8Array(words.buffer)].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}

const shares = (scenes: SceneList) => scenes.rows.map(({ before, now }) => [before?.share, now?.share]);

describe("arranged scenes", () => {
  it("are the same scene whatever their generator, with the results on each", () => {
    const scenes = new SceneList(SPEC);
    scenes.add(state(1.5, 7));
    scenes.add(state(1.5, 8));
    scenes.add(state(-2));
    expect(scenes.rows.map(({ places }) => places)).toEqual([[[1.5, 1.5]], [[-2, -2]]]);
    expect(scenes.words.map((words) => words[0])).toEqual([0, 0]);
    const [first, second] = scenes.words.map(sceneKey);
    scenes.measured([
      { key: first!, share: 0.1, version: 1 },
      { key: second!, share: 0.2, version: 1 },
    ]);
    scenes.measured([{ key: first!, share: 0.5, version: 9 }]);
    expect(shares(scenes)).toEqual([
      [0.1, 0.5],
      [0.2, 0.2],
    ]);
    scenes.add(state(1.5, 9)); // it is there
    expect(shares(scenes)).toEqual([
      [0.1, 0.5],
      [0.2, 0.2],
    ]);
  });

  it("have no part in the results on one that was removed while those were under way", () => {
    const scenes = new SceneList(SPEC);
    for (const x of [1, 2, 3]) scenes.add(state(x));
    const under = scenes.words.map((words, k) => ({ key: sceneKey(words), share: k / 10, version: 1 }));
    scenes.remove(scenes.rows[0]!.key);
    scenes.add(state(4));
    scenes.measured(under);
    expect(shares(scenes)).toEqual([
      [0.1, 0.1],
      [0.2, 0.2],
      [undefined, undefined],
    ]);
  });

  it("of a file take the place of others as a whole, or not at all", () => {
    const scenes = new SceneList(SPEC);
    scenes.add(state(1));
    const words = (x: number) => {
      const one = new Uint32Array(8);
      new Float32Array(one.buffer)[5] = x;
      return one;
    };
    const many = Array.from({ length: 9 }, (_, k) => words(k));
    expect(() => scenes.restore(many)).toThrow("The limit of 8 scenes is reached");
    expect(() => scenes.restore([words(2), new Uint32Array(6)])).toThrow("A scene of toy has 8 words, got 6.");
    expect(() => scenes.restore([words(2), words(Number.NaN)])).toThrow("A scene's numbers must be finite, but its x is not.");
    expect(scenes.rows.map(({ places }) => places)).toEqual([[[1, 1]]]);
    scenes.restore(many.slice(1));
    expect(scenes.words).toEqual(many.slice(1));
  });

  it("that no game has are refused, as Python refuses them", () => {
    const scenes = new SceneList(SPEC);
    expect(() => scenes.add(state(100.7))).toThrow("one is outside the world at 101, 101: put it inside -100, -100, 100, 100.");
    expect(() => scenes.add(state(1).replace(/.{8}$/, "02000000"))).toThrow("A scene's won must be 0 or 1.");
    expect(scenes.rows).toEqual([]);
    scenes.add(state(100.00001)); // float32 writes it so
    expect(scenes.rows[0]!.places).toEqual([[100, 100]]);
  });

  it("are at most eight, and whole", () => {
    const scenes = new SceneList(SPEC);
    for (let k = 0; k < 8; k++) scenes.add(state(k));
    expect(() => scenes.add(state(99))).toThrow("The limit of 8 scenes is reached: remove one first.");
    expect(() => scenes.add("0011")).toThrow("A scene of toy has 8 words, got 0.");
  });
});
