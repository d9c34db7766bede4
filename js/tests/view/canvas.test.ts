// @vitest-environment happy-dom
/** The match's canvas: keys, taking over, a canvas that is lost, the notebook's theme, the screen's pixels. */
import { describe, expect, it, vi } from "vitest";
import { settle } from "../harness/fakes";
import { shownPage } from "../harness/shown_page";

const page = shownPage();
const LOST = { type: "CANVAS_LOST", view: 0, renderer: "canvas2d", reason: "The graphics adapter went away." } as const;

describe("the canvas", () => {
  it("plays keys only in the canvas, told by the drill", async () => {
    page.change("Mode", "human_vs_ai");
    expect(page.find(".key-help").textContent).toContain("moveWSdashSpace");
    page.press("Match", "KeyW");
    page.press("Match seed", "KeyS");
    await settle();
    expect(page.of("INPUT_BATCH").map((message) => message.events.map((event) => event.code))).toEqual([["KeyW"]]);
  });

  it("takes over while Shift is held, says so, and shows what can be grabbed", async () => {
    page.press("Match", "ShiftLeft");
    expect(page.find(".name").textContent).toBe("You");
    expect(page.find(".hint").textContent).toContain("moveW");
    page.press("Match", "ShiftLeft", "keyup");
    expect(page.find(".name").textContent).not.toBe("You");
    expect(page.find(".hint .by-keys").textContent).toBe("HoldShiftto take over");
    expect(page.find(".hint .by-touch").textContent, "for who has no keys").toBe("To play, set Mode to You vs AI");
    page.say({ type: "CURSOR", view: 0, cursor: "grab" });
    page.control("Next goal").click();
    await settle();
    expect(page.control("Match").dataset.cursor).toBe("grab");
    expect(page.of("TAKE_OVER").map((message) => message.on)).toEqual([true, false]);
    expect(page.of("SKIP")).toHaveLength(1);
    await page.reports({ events: [{ kind: "goalless", tick: 9, side: -1, version: 1 }] });
    expect(page.find(".status .notice").textContent).toContain("No goal");
  });

  it("gets a fresh canvas when the old one is lost", async () => {
    const before = page.control("Match");
    page.say(LOST);
    await settle();
    await settle();
    expect(page.control("Match")).not.toBe(before);
    expect(page.of("INIT_CANVAS").at(-1)).toMatchObject({ renderer: "canvas2d", reason: "The graphics adapter went away." });
    expect(page.find(".play-column > .renderer-note").hidden).toBe(false);
  });

  it("hands over only the last of the canvases that took each other's place", async () => {
    const handed = vi.spyOn(HTMLCanvasElement.prototype as unknown as { transferControlToOffscreen(): object }, "transferControlToOffscreen");
    const before = page.of("INIT_CANVAS").length;
    page.say(LOST);
    page.say(LOST);
    await settle();
    expect(page.of("INIT_CANVAS")).toHaveLength(before + 1);
    expect(handed.mock.instances).toEqual([page.root.querySelector(".match")]);
    handed.mockRestore();
  });

  it("leaves the hands on the keys when the canvas is lost", async () => {
    const pressed = () =>
      page
        .of("INPUT_BATCH")
        .flatMap(({ events }) => events)
        .map(({ code, down }) => [code, down]);
    page.control("Match").focus();
    page.press("Match", "KeyW");
    page.say({ type: "CANVAS_LOST", view: 0, reason: "" });
    await settle();
    await settle();
    expect(document.activeElement).toBe(page.control("Match"));
    expect(pressed()).toEqual([
      ["KeyW", true],
      ["KeyW", false],
      ["KeyW", true],
    ]);
    page.press("Match", "KeyW", "keyup");
    await settle();
    expect(pressed().at(-1)).toEqual(["KeyW", false]);
  });
});

describe("views", () => {
  it("follow the notebook's theme", async () => {
    expect(page.root.dataset.theme).toBe("light");
    document.body.dataset.jpThemeLight = "false";
    await settle();
    expect(page.root.dataset.theme).toBe("dark");
    expect(page.of("THEME").at(-1)).toMatchObject({ view: 0, theme: "dark" });
  });

  it("follow the wish for less motion, in the same theme", async () => {
    let reduced = false;
    const told = new Set<() => void>();
    const query = (text: string) => ({
      get matches() {
        return reduced && text.includes("reduced-motion");
      },
      addEventListener: (_: string, changed: () => void) => text.includes("prefers") && told.add(changed),
    });
    vi.stubGlobal("matchMedia", query);
    try {
      await page.begin();
      expect(page.of("INIT_CANVAS").at(-1)).toMatchObject({ reducedMotion: false });
      for (const wish of [true, false]) {
        reduced = wish;
        for (const changed of told) changed();
        await settle();
        expect(page.of("THEME").at(-1)).toMatchObject({ theme: "light", reducedMotion: wish });
      }
      const sent = page.of("THEME").length;
      for (const changed of told) changed();
      await settle();
      expect(page.of("THEME")).toHaveLength(sent);
    } finally {
      vi.unstubAllGlobals();
    }
  });

  it("get the pixels of the screen to which the window was moved", async () => {
    const asked = new Map<string, () => void>();
    const query = (text: string) => ({ matches: false, addEventListener: (_: string, changed: () => void) => asked.set(text, changed) });
    vi.stubGlobal("matchMedia", query);
    const density = vi.spyOn(globalThis, "devicePixelRatio", "get").mockReturnValue(1);
    const wide = vi.spyOn(HTMLElement.prototype, "clientWidth", "get").mockReturnValue(600);
    try {
      await page.begin();
      for (const [before, now] of [
        [1, 2],
        [2, 1.5],
      ] as const) {
        density.mockReturnValue(now);
        asked.get(`(resolution: ${before}dppx)`)!();
        await settle();
        expect(page.of("RESIZE").at(-1)).toMatchObject({ view: 0, width: 600, dpi: now });
      }
    } finally {
      wide.mockRestore();
      density.mockRestore();
      vi.unstubAllGlobals();
    }
  });
});
