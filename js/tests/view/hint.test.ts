// @vitest-environment happy-dom
import { beforeAll, expect, it } from "vitest";
import { FakeModel, installBrowser, mount, row, settle, spec } from "../harness/fakes";

beforeAll(installBrowser);

const drill = { spec: { ...spec, hint: "Watch the blue one." }, javascript: "return {}" };
const text = (root: HTMLElement) => root.querySelector(".hint")!.textContent;

it("says what to look at until that is known", async () => {
  const { root, end } = await mount(new FakeModel({ drill }));
  expect(text(root)).toBe("Watch the blue one. Got it");
  root.querySelector<HTMLElement>('[data-control="hint-seen"]')!.click();
  expect(text(root)).toContain("to take over");
  end();
});

it("says it no longer once something was trained, and nothing where a drill has no such word", async () => {
  const model = new FakeModel({ drill });
  const { root, end } = await mount(model);
  model.set("metrics", row(1000));
  await settle();
  expect(text(root)).toContain("to take over");
  end();
  const plain = await mount(new FakeModel());
  expect(text(plain.root)).toContain("to take over");
  plain.end();
});
