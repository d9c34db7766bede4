// @vitest-environment happy-dom
import { beforeAll, expect, it } from "vitest";
import { PAGE_ATTRIBUTES } from "../../contract/tables";
import widget from "../../page";
import { FakeModel, installBrowser, settle } from "../harness/fakes";

beforeAll(installBrowser);

it("has the attributes of docs/contract.md, and no others", async () => {
  const model = new FakeModel();
  const { initialize, render } = widget();
  const el = document.createElement("div");
  document.body.append(el);
  const destroy = initialize({ model });
  const end = render({ model, el });
  await settle();
  const root = el.querySelector<HTMLElement>(".dshq-widget")!;
  const names = root.getAttributeNames().filter((name) => name.startsWith("data-") && !name.startsWith("data-lm-")); // those are of JupyterLab
  expect(names.sort()).toEqual(PAGE_ATTRIBUTES.map((name) => `data-${name}`).sort());
  end();
  destroy();
});
