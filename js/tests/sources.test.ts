import { execFileSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";

const js = fileURLToPath(new URL("..", import.meta.url));
const sources = readdirSync(js, { recursive: true, encoding: "utf8" }).filter((name) => name.endsWith(".ts") && !/test/.test(name) && !name.endsWith(".d.ts"));

describe.each(sources)("%s", (name) => {
  const text = readFileSync(join(js, name), "utf8");

  it("parses no strings as HTML or code, and reaches no address", () => {
    expect(text).not.toMatch(/innerHTML|outerHTML|insertAdjacentHTML|document\.write|createContextualFragment|\beval\(/);
    if (name !== join("match", "rules.ts")) expect(text, "only rules.ts turns checked rules into code").not.toMatch(/new Function\b|\bFunction\(/);
    expect(text.replaceAll("http://www.w3.org/2000/svg", "")).not.toMatch(/["'`](https?:)?\/\/[a-z]/);
  });
});

describe("the bundle", () => {
  let out: string;
  let css: string;
  beforeAll(() => {
    out = mkdtempSync(join(tmpdir(), "dshq-bundle-"));
    execFileSync(process.execPath, [join(js, "build.mjs"), `--out=${out}`]);
    css = readFileSync(join(out, "widget.css"), "utf8");
  });
  afterAll(() => rmSync(out, { recursive: true }));

  it("is one module within the budget, its style sheet, pages of their own, the trainer and the kernels of WebGPU", () => {
    expect(readdirSync(out).sort()).toEqual(["compute.js", "match_replay.js", "play.js", "standalone.js", "trainer.js", "widget.css", "widget.js"]);
    expect(statSync(join(out, "widget.js")).size).toBeLessThan(240 * 1024);
  });

  it("styles nothing outside the widget", () => {
    const rules = css.replace(/\/\*.*?\*\//gs, "").replace(/@keyframes dshq-[\w-]+\{(?:[^{}]*\{[^{}]*\})*\}/g, "");
    const selectors = [...rules.matchAll(/([^{}]+)\{/g)].map((match) => match[1]!.trim()).filter((text) => !text.startsWith("@"));
    expect(selectors.length).toBeGreaterThan(50);
    for (const list of selectors) {
      for (const selector of list.split(/,(?![^(]*\))/)) expect(selector.trim()).toMatch(/^(:is\()?\.dshq-widget/);
    }
  });
});
