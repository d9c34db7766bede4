/** Waits for what comes by itself: a moment on an idle machine, seconds on one that others keep busy. */
import { vi } from "vitest";

/** Resolves once `check` throws nothing; rejects with its last error after twenty seconds. */
export const soon = (check: () => void): Promise<void> => vi.waitFor(check, 20_000);
