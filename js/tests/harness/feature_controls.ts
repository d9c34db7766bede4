/** Features' controls, for the test of all controls: each feature that has some says so in its tests/controls.ts. */
import { readdirSync } from "node:fs";
import { join } from "node:path";
import type { Traits } from "../../contract/model";

export interface FeatureControls {
  /** Traits that show them, from those of a plain page. */
  traits(plain: Pick<Traits, "drill" | "config">): Partial<Traits>;
  /** Controls that no page of a test shows. */
  more?(): HTMLElement;
  /** id -> accessible name of controls whose ids are made of what they are about. */
  names: Readonly<Record<string, string>>;
}

export async function featureControls(): Promise<FeatureControls[]> {
  const folder = join(import.meta.dirname, "../../features");
  const names = readdirSync(folder, { recursive: true, encoding: "utf8" }).filter((name) => name.endsWith(join("tests", "controls.ts")));
  const modules = await Promise.all(names.map((name) => import(/* @vite-ignore */ join(folder, name)) as Promise<{ controls: FeatureControls }>));
  return modules.map(({ controls }) => controls);
}
