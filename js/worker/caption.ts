/** The strip under a shared picture or film: who plays, the score, the policy's version and its learning curve. */
import type { FilmCaption, Theme } from "../contract/protocol";
import { type Look, rgbaOf } from "../renderer/palette";

export type Score = readonly [number, number];

/** The score before the first tick and after each one, from the score at the `end` and who won at each tick: +1 side 0, -1 side 1, 0 nobody. */
export function scoresUntil(end: Score, winners: readonly number[]): Score[] {
  const scores = [end];
  for (const winner of winners.toReversed()) {
    const [first, second] = scores.at(-1)!;
    scores.push([Math.max(0, first - Number(winner > 0)), Math.max(0, second - Number(winner < 0))]);
  }
  return scores.reverse();
}

/** Height of the strip in pixels of a picture that is `width` pixels wide: 40 at least, so that a GIF's words are legible. */
export function captionHeight(width: number): number {
  return 2 * Math.round(Math.max(20, 0.033 * width));
}

const INK: Record<Theme, { ground: string; text: string; quiet: string; line: string }> = {
  light: { ground: "#ffffff", text: "#17302a", quiet: "#55706a", line: "#0f766e" },
  dark: { ground: "#0e1b19", text: "#edf6f3", quiet: "#9ab5ae", line: "#5eead4" },
};
const FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif";

/** Writes the strip into the lowest pixels of the pen's canvas; `score` is that of this picture. */
export function drawCaption(pen: OffscreenCanvasRenderingContext2D, caption: FilmCaption, score: Score | null, look: Look): void {
  const { width } = pen.canvas;
  const height = captionHeight(width);
  const [top, middle, pad] = [pen.canvas.height - height, pen.canvas.height - height / 2, 0.36 * height];
  const ink = INK[look.theme];
  const size = Math.round(0.38 * height);
  pen.setTransform(1, 0, 0, 1, 0, 0);
  pen.fillStyle = ink.ground;
  pen.fillRect(0, top, width, height);
  pen.textBaseline = "middle";
  pen.textAlign = "left";
  const write = (text: string, x: number, { weight = 400, colour = ink.text } = {}) => {
    pen.font = `${weight} ${size}px ${FONT}`;
    pen.fillStyle = colour;
    pen.fillText(text, x, middle);
    return x + pen.measureText(text).width;
  };
  const dot = (x: number, player: string) => {
    const [r, g, b] = rgbaOf(look, player);
    pen.fillStyle = `rgb(${255 * r!} ${255 * g!} ${255 * b!})`;
    pen.beginPath();
    pen.arc(x + 0.13 * height, middle - 0.02 * height, 0.13 * height, 0, 2 * Math.PI);
    pen.fill();
    return x + 0.4 * height;
  };

  let x = write(caption.names[0], dot(pad, "player0"));
  if (score) {
    x = write(`${score[0]} : ${score[1]}`, x + pad, { weight: 700 });
    x = write(caption.names[1], dot(x + pad, "player1"));
  }
  if (caption.version === 0) return;

  const words = `v${caption.version}`;
  const curve = caption.curve.length > 1 ? 2.2 * height : 0; // wide
  const newest = curve ? ` ${caption.newest}` : "";
  pen.font = `400 ${size}px ${FONT}`;
  const taken = pen.measureText(words).width;
  const begin = width - pad - pen.measureText(newest).width - curve - (curve && pad) - taken;
  if (begin < x + pad) return; // the names are long
  write(words, begin, { colour: ink.quiet });
  if (!curve) return;
  const left = begin + taken + pad;
  pen.strokeStyle = ink.line;
  pen.lineWidth = height / 20;
  pen.lineJoin = "round";
  pen.beginPath();
  caption.curve.forEach((value, k) => {
    pen.lineTo(left + (curve * k) / (caption.curve.length - 1), middle + height * (0.28 - 0.56 * value));
  });
  pen.stroke();
  write(newest, left + curve);
}
