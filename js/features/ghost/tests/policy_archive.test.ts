import { describe, expect, it } from "vitest";
import { Policy } from "../../../match/network/policy";
import { PolicyArchive } from "../policy_archive";

const BYTES = 4 * 28; // of one policy with layers 3-7
const newPolicy = (version: number, layers = [3, 7]) => {
  const floats = layers.slice(1).reduce((sum, width, k) => sum + (layers[k]! + 1) * width, 0);
  return new Policy(version, layers, "tanh", new Float32Array(floats));
};
const filled = (versions: Iterable<number>, most = 20 * BYTES) => {
  const archive = new PolicyArchive(most);
  for (const version of versions) archive.add(newPolicy(version));
  return archive;
};

describe("Archive", () => {
  it("keeps everything while there is room", () => {
    expect(filled([0, 7, 14]).versions).toEqual([0, 7, 14]);
  });

  it("begins anew with another run, also with a later version of it", () => {
    const archive = filled([0, 7, 14]);
    archive.add(newPolicy(1225), true);
    archive.add(newPolicy(1226));
    expect(archive.versions).toEqual([1225, 1226]);
  });

  it("stays within its bytes, and keeps the first and the newest however long it continues", () => {
    const archive = new PolicyArchive(20 * BYTES);
    for (let version = 0; version <= 5000; version += 7) {
      archive.add(newPolicy(version));
      expect(archive.versions.length).toBeLessThanOrEqual(20);
      expect(archive.versions[0]).toBe(0);
      expect(archive.versions.at(-1)).toBe(version);
    }
  });

  it("thins the middle more than both ends", () => {
    const { versions } = filled(Array.from({ length: 1001 }, (_, k) => k));
    const gaps = versions.slice(1).map((version, k) => version - versions[k]!);
    expect(versions).toHaveLength(20);
    const widest = gaps.indexOf(Math.max(...gaps));
    expect(widest).toBeGreaterThan(4);
    expect(widest).toBeLessThan(14);
    expect(gaps[0]! + gaps[1]!).toBeLessThan(20);
    expect(gaps.at(-1)! + gaps.at(-2)!).toBeLessThan(20);
  });

  it("keeps a few versions of a network however large", () => {
    expect(filled([0, 1, 2, 3, 4, 5, 6, 7, 8, 9], 1).versions).toHaveLength(8);
  });

  it("forgets what came after a version to which training went back", () => {
    const archive = filled([0, 5, 9]);
    archive.add(newPolicy(5));
    expect(archive.versions).toEqual([0, 5]);
    archive.add(newPolicy(0));
    expect(archive.versions).toEqual([0]);
  });

  it("forgets networks of another shape", () => {
    const archive = filled([0, 5]);
    archive.add(newPolicy(6, [3, 4, 7]));
    expect(archive.versions).toEqual([6]);
  });

  it("finds the latest one up to a version, else the first", () => {
    const archive = filled([3, 5, 9]);
    expect([9, 8, 5, 4, 0, -Infinity].map((version) => archive.upTo(version)!.version)).toEqual([9, 5, 5, 3, 3, 3]);
    expect(new PolicyArchive().upTo(4)).toBeNull();
  });
});
