/** What a browser without vectors is told. */
import { expect, test, vi } from "vitest";
import type { DrillSpec } from "../../contract/protocol";
import type { ModuleBytes } from "../../contract/training";
import { Modules } from "../../trainer/games/modules";

const NOTHING: ModuleBytes = { drill: new ArrayBuffer(0), learner: new ArrayBuffer(0) };

test("a browser without WebAssembly SIMD is named as what it is, and not the module", async () => {
  await expect(Modules.load({} as DrillSpec, NOTHING)).rejects.toThrow("The drill's WebAssembly module in this page cannot be used");
  vi.spyOn(WebAssembly, "validate").mockReturnValue(false);
  await expect(Modules.load({} as DrillSpec, NOTHING)).rejects.toThrow("has no SIMD");
  vi.restoreAllMocks();
});
