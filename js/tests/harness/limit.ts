/** A run that hangs ends with the names of the files that have not ended, instead of holding everybody up. */
import type { TestProject } from "vitest/node";

const MINUTES = 15; // ten times what a slow machine takes

export default function limit({ vitest }: TestProject): void {
  const end = () => {
    const files = vitest.state.getFiles().filter(({ result }) => !result?.state || result.state === "run");
    console.error(`not over after ${MINUTES} minutes; not ended: ${files.map(({ name }) => name).join(", ") || "between two files"}`);
    process.exit(1);
  };
  setTimeout(end, MINUTES * 60_000).unref();
}
