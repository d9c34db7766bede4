/**
 * Test files share a thread: to start one, with a document in it, takes longer than most files do. So each file begins with
 * modules of its own, and without what the file before left on the thread.
 */
import { vi } from "vitest";

vi.resetModules();
vi.unstubAllGlobals();
vi.useRealTimers();
for (const key of Object.getOwnPropertySymbols(globalThis)) if (key.description?.startsWith("dshq-widget")) Reflect.deleteProperty(globalThis, key);
if (typeof document !== "undefined") {
  document.head.replaceChildren();
  document.body.replaceChildren();
  localStorage.clear();
  sessionStorage.clear();
}
