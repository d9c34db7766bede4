/** A run whose file cannot be used as a whole. */
import { expect, test } from "vitest";
import { Run } from "../../trainer/run";

test("a run continues from the weights alone, and says why, where the rest of its file does not fit", () => {
  const run: Run = Object.create(Run.prototype);
  const [loaded, said]: [Float32Array[], string[]] = [[], []];
  const restore = () => {
    throw new Error("its league cannot be read");
  };
  const engine = { restore: () => {}, load: (weights: Float32Array) => loaded.push(weights) };
  const post = ({ text }: { text: string }) => said.push(text);
  const published = Float32Array.of(1);
  Object.assign(run, { engine, post, published, version: 7, metrics: { updates: 6, seconds: 30 }, exploration: { restore: () => {} }, contest: { restore } });
  Reflect.apply(Reflect.get(run, "resume"), run, [{ config: {}, state: {} }]);
  expect(loaded).toEqual([published]);
  expect([run.updates, Reflect.get(run, "seconds")], "its curves continue").toEqual([6, 30]);
  expect(said).toEqual(["continuing from the weights of version 7 alone: its league cannot be read"]);
});
