// @vitest-environment happy-dom
/** Policies on their way to the kernel, and the menu that sends them. */
import { beforeAll, describe, expect, it } from "vitest";
import { fetchPolicy } from "../../session/kernel/policy_files";
import { Session } from "../../session/session";
import { loadPolicy, MOST_BYTES } from "../../view/policy_files";
import { answerFile, FakeModel, installBrowser, mount, settle } from "../harness/fakes";

beforeAll(installBrowser);

describe("a policy file", () => {
  it("travels in parts below what servers refuse", async () => {
    const model = new FakeModel();
    const buffers: ArrayBuffer[][] = [];
    const send = model.send.bind(model);
    model.send = (message, _callbacks?: unknown, parts?: ArrayBuffer[]) => {
      if (message.type === "LOAD_POLICY") buffers.push(parts ?? []);
      send(message);
    };
    const session = new Session(model);
    const bytes = Uint8Array.from({ length: (9 << 20) + 5 }, (_, k) => k % 251);
    await loadPolicy(session, new File([bytes], "mine.dshq"));
    const sent = model.sentOf("LOAD_POLICY");
    expect(sent).toEqual([0, 1, 2].map((part) => ({ type: "LOAD_POLICY", name: "mine.dshq", part, parts: 3 })));
    expect(buffers.every(([part]) => part!.byteLength <= 4 << 20)).toBe(true);
    const arrived = new Uint8Array(await new Blob(buffers.flat()).arrayBuffer());
    expect(arrived.length).toBe(bytes.length);
    expect(arrived.every((byte, k) => byte === bytes[k])).toBe(true);
    session.dispose();
  });

  it("that is too large is refused here, in a sentence", async () => {
    const model = new FakeModel();
    const session = new Session(model);
    const huge = { name: "huge.dshq", size: MOST_BYTES + 1 } as File;
    await expect(loadPolicy(session, huge)).rejects.toThrow("huge.dshq is larger than 64 MB");
    expect(model.sentOf("LOAD_POLICY")).toEqual([]);
    session.dispose();
  });

  it("goes nowhere from a match that was saved without its kernel", () => {
    const model = Object.assign(new FakeModel(), { standalone: true });
    const session = new Session(model);
    expect(session.status).toBe("disconnected");
    session.kernel.send({ type: "SAVE_POLICY" });
    expect(model.sent).toEqual([]);
    session.dispose();
  });
});

describe("two requests at once", () => {
  it("each get their own answer, whichever comes first", async () => {
    const model = new FakeModel();
    const session = new Session(model);
    const { signal } = new AbortController();
    const [run, policy] = [fetchPolicy(session, signal, true), fetchPolicy(session, signal)];
    const [first, second] = model.sentOf("SAVE_POLICY").map(({ request }) => request);
    answerFile(model, "policy.dshq", "", second);
    answerFile(model, "another-page.dshq", "", 0);
    answerFile(model, "run.dshq", "", first);
    expect([(await run).name, (await policy).name]).toEqual(["run.dshq", "policy.dshq"]);
    session.dispose();
  });

  it("are answered by a kernel of before an upgrade, which names none", async () => {
    const model = new FakeModel();
    const session = new Session(model);
    const policy = fetchPolicy(session, new AbortController().signal);
    model.fire("msg:custom", { type: "POLICY_FILE", name: "policy.dshq", problem: "" }, [new DataView(new ArrayBuffer(9))]);
    expect((await policy).name).toBe("policy.dshq");
    session.dispose();
  });
});

describe("the Share menu", () => {
  it("closes once something is saved, and says what", async () => {
    const model = new FakeModel();
    const { root, end } = await mount(model);
    const one = (selector: string) => root.querySelector<HTMLElement>(selector)!;
    one('[data-control="share"]').click();
    expect(one(".share-menu").hidden).toBe(false);
    expect(one(".share-menu .entry").dataset.control, "first what one sends").toBe("web-page");
    one('[data-control="save-policy"]').click();
    await settle();
    answerFile(model, "ball-v26.dshq");
    await settle();
    expect(one(".share-menu").hidden).toBe(true);
    expect(one(".saved").textContent).toBe("Saved ball-v26.dshq, the newest version.");
    end();
  });

  it("says of a web page that it is a file to send", async () => {
    const model = new FakeModel();
    const { root, end } = await mount(model);
    const page = root.querySelector<HTMLElement>('[data-control="web-page"]')!;
    expect([page.textContent, page.title]).toEqual(["Save web page", expect.stringContaining("downloads one HTML file to send")]);
    page.click();
    await settle();
    const { request } = model.sentOf("SAVE_PAGE").at(-1)!;
    model.fire("msg:custom", { type: "PAGE_FILE", name: "ball-v26.html", problem: "", request }, [new DataView(new ArrayBuffer(9))]);
    await settle();
    expect(root.querySelector(".saved")!.textContent).toBe("Saved ball-v26.html. Send this file: it opens in any browser.");
    end();
  });

  it("stops waiting for a file when the kernel is gone", async () => {
    const model = new FakeModel();
    const { root, end } = await mount(model);
    const save = root.querySelector<HTMLElement>('[data-control="save-policy"]')!;
    save.click();
    await settle();
    expect(save.getAttribute("aria-busy")).toBe("true");
    model.fire("comm:close");
    await settle();
    expect(save.hasAttribute("aria-busy")).toBe(false);
    expect(root.querySelector(".share-menu .said")!.textContent).toContain("Kernel disconnected");
    end();
  });

  it("says why there is no file, and can be asked again", async () => {
    const model = new FakeModel();
    const { root, end } = await mount(model);
    const one = (selector: string) => root.querySelector<HTMLElement>(selector)!;
    one('[data-control="share"]').click();
    const save = one('[data-control="save-policy"]');
    save.click();
    await settle();
    expect(save.getAttribute("aria-busy")).toBe("true");
    answerFile(model, "ball-v26.dshq", "there is no room left");
    await settle();
    expect(save.hasAttribute("aria-busy")).toBe(false);
    expect(one(".share-menu").textContent).toContain("there is no room left");
    end();
  });
});
