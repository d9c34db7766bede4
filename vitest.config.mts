import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";

export default defineConfig({
  resolve: {
    // Tests bring their own worker; the bundled text exists only in the build.
    alias: { "worker-source": fileURLToPath(new URL("js/tests/harness/worker-source.ts", import.meta.url)) },
  },
  plugins: [
    {
      name: "wgsl-as-text",
      transform: (code, id) => (id.endsWith(".wgsl") ? `export default ${JSON.stringify(code)}` : undefined),
    },
  ],
  test: {
    include: ["js/**/*.test.ts"],
    environment: "node",
    pool: "threads",
    isolate: false, // a thread for each file costs twice as much; `apart` keeps the files apart
    setupFiles: ["js/tests/harness/apart.ts"],
    globalSetup: ["js/tests/harness/limit.ts"],
    testTimeout: 30_000,
    hookTimeout: 30_000,
  },
});
