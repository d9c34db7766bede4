import { expect, test } from "vitest";
import type { FilmCaption } from "../../contract/protocol";
import { Look } from "../../renderer/palette";
import { captionHeight, drawCaption, scoresUntil } from "../../worker/caption";

const CAPTION: FilmCaption = { names: ["AI", "chaser"], score: [2, 5], version: 738, curve: [0, 0.5, 1], newest: "win rate 94%" };

/** What the strip of a picture of 480 x 360 pixels says, and where: a letter is 8 pixels wide. */
function written(caption: FilmCaption, score = caption.score): { words: { text: string; x: number; end: number }[]; lines: number } {
  const words: { text: string; x: number; end: number }[] = [];
  let lines = 0;
  const pen = {
    canvas: { width: 480, height: 360 },
    measureText: (text: string) => ({ width: 8 * text.length }),
    fillText: (text: string, x: number) => words.push({ text: text.trim(), x, end: x + 8 * text.length }),
    stroke: () => lines++,
    ...Object.fromEntries(["setTransform", "fillRect", "beginPath", "arc", "fill", "lineTo"].map((name) => [name, () => {}])),
  };
  drawCaption(pen as unknown as OffscreenCanvasRenderingContext2D, caption, score, new Look([], "light"));
  return { words, lines };
}

test("the score of each picture, from the one at the end", () => {
  expect(scoresUntil([2, 1], [0, 1, 0, -1])).toEqual([
    [1, 0],
    [1, 0],
    [2, 0],
    [2, 0],
    [2, 1],
  ]);
  expect(scoresUntil([0, 1], [1, -1]).every(([first]) => first === 0)).toBe(true); // counted anew in between
});

test("the strip says who plays, the score, the version and what was learned, one beside the other", () => {
  const { words, lines } = written(CAPTION, [1, 4]);
  expect(words.map(({ text }) => text)).toEqual(["AI", "1 : 4", "chaser", "v738", "win rate 94%"]);
  words.slice(1).forEach(({ x }, k) => {
    expect(x).toBeGreaterThanOrEqual(words[k]!.end);
  });
  expect(words.at(-1)!.end).toBeLessThanOrEqual(480);
  expect(lines).toBe(1);
});

test("what is not there is left out", () => {
  const words = (caption: FilmCaption) => written(caption).words.map(({ text }) => text);
  expect(words({ ...CAPTION, version: 0 })).toEqual(["AI", "2 : 5", "chaser"]);
  expect(words({ ...CAPTION, score: null, curve: [] })).toEqual(["AI", "v738"]);
  expect(words({ ...CAPTION, names: ["a player with a long name", "another one of them"] })).not.toContain("v738");
});

test("the strip's height is even, and at least 40 pixels", () => {
  for (const width of [480, 720, 1600]) expect(captionHeight(width) % 2).toBe(0);
  expect(captionHeight(480)).toBe(40);
});
