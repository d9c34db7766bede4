import { execFileSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, sep } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";

const js = fileURLToPath(new URL("..", import.meta.url));
const ofTests = (name: string) => /(^|[\\/])tests[\\/]|\.test\.ts$/.test(name);
const sources = readdirSync(js, { recursive: true, encoding: "utf8" }).filter((name) => name.endsWith(".ts") && !ofTests(name) && !name.endsWith(".d.ts"));

it("the sources are all files but tests, whatever they are called", () => {
  expect(ofTests(join("trainer", "league", "fall_test.ts")), "a test that a run makes").toBe(false);
  expect(sources.filter((name) => /fakes|controls\.test/.test(name))).toEqual([]);
});

describe.each(sources)("%s", (name) => {
  const text = readFileSync(join(js, name), "utf8");

  it("parses no strings as HTML or code, and reaches no address", () => {
    expect(text).not.toMatch(/innerHTML|outerHTML|insertAdjacentHTML|document\.write|createContextualFragment|\beval\(/);
    if (name !== join("match", "rules.ts")) expect(text, "only rules.ts turns checked rules into code").not.toMatch(/new Function\b|\bFunction\(/);
    expect(text.replaceAll("http://www.w3.org/2000/svg", "")).not.toMatch(/["'`](https?:)?\/\/[a-z]/);
  });
});

describe("features", () => {
  const all = readdirSync(js, { recursive: true, encoding: "utf8" }).filter((name) => name.endsWith(".ts"));
  const lists = { page: join("features", "page.ts"), worker: join("features", "worker.ts") };
  const featureOf = (name: string) => (name.startsWith(`features${sep}`) && name.split(sep).length > 2 ? name.split(sep)[1]! : null);
  /** The files of js that a file imports; `kind` "code": but for types, which are in no bundle. */
  const importsOf = (name: string, kind: "any" | "code" = "any") => {
    const lines = [...readFileSync(join(js, name), "utf8").matchAll(/^(?:import|export)( type)?\b[^"';]*"(\.[^"]+)";$/gm)];
    const paths = lines.filter(([, type]) => kind === "any" || !type).map((line) => join(dirname(name), line[2]!));
    return paths.flatMap((path) => [`${path}.ts`, join(path, "index.ts")].filter((file) => all.includes(file)));
  };
  const reached = (name: string, found = new Set([name])): Set<string> => {
    for (const other of importsOf(name, "code")) if (!found.has(other)) reached(other, found.add(other));
    return found;
  };
  const wrongWhere = (wrong: (from: string, to: string) => boolean) =>
    all.flatMap((from) => importsOf(from).flatMap((to) => (wrong(from, to) ? [`${from} imports ${to}`] : [])));

  it("are imported by nothing but the two lists", () => {
    expect(wrongWhere((from, to) => !featureOf(from) && !Object.values(lists).includes(from) && featureOf(to) !== null)).toEqual([]);
  });

  it("import no other feature", () => {
    expect(wrongWhere((from, to) => featureOf(from) !== null && ![null, featureOf(from)].includes(featureOf(to)))).toEqual([]);
  });

  it("are all in a list, each half in that of its thread", () => {
    const listed = Object.values(lists).flatMap((list) => importsOf(list).flatMap((name) => featureOf(name) ?? []));
    expect(new Set(listed)).toEqual(new Set(all.flatMap((name) => featureOf(name) ?? [])));
    const rooms = (list: string) => new Set([...reached(list)].map((name) => name.split(sep)[0]!));
    expect(["mind", "worker"].filter((room) => rooms(lists.page).has(room))).toEqual([]);
    expect(["session", "panels", "view", "input", "ui"].filter((room) => rooms(lists.worker).has(room))).toEqual([]);
  });
});

const OF_FEATURES = ["match_replay.js", "trainer.js"];

describe("the bundle", () => {
  let out: string;
  let css: string;
  beforeAll(() => {
    out = mkdtempSync(join(tmpdir(), "dshq-bundle-"));
    execFileSync(process.execPath, [join(js, "build.mjs"), `--out=${out}`]);
    css = readFileSync(join(out, "widget.css"), "utf8");
  });
  afterAll(() => rmSync(out, { recursive: true }));

  it("is one module within the budget, its style sheet, pages of their own and the trainer", () => {
    const built = readdirSync(out).filter((name) => !OF_FEATURES.includes(name));
    expect(built.sort()).toEqual(["play.js", "standalone.js", "widget.css", "widget.js"]);
    expect(statSync(join(out, "widget.js")).size).toBeLessThan(240 * 1024);
  });

  it("styles nothing outside the widget", () => {
    const rules = css.replace(/\/\*.*?\*\//gs, "").replace(/@keyframes dshq-[\w-]+\{(?:[^{}]*\{[^{}]*\})*\}/g, "");
    const selectors = [...rules.matchAll(/([^{}]+)\{/g)].map((match) => match[1]!.trim()).filter((text) => !text.startsWith("@"));
    expect(selectors.length).toBeGreaterThan(50);
    for (const list of selectors) {
      for (const selector of apart(list)) expect(selector.trim()).toMatch(/^(:is\()?\.dshq-widget/);
    }
  });
});

/** The selectors of a list: commas inside of brackets are a selector's own. */
function apart(list: string): string[] {
  let depth = 0;
  const marked = [...list].map((letter) => {
    depth += Number(letter === "(") - Number(letter === ")");
    return letter === "," && depth === 0 ? "\n" : letter;
  });
  return marked.join("").split("\n");
}
