/** Export of the learning curves: every metric as CSV, the charts as one PNG. */
import type { MetricsRow } from "../../contract/protocol";

const GAP = 16; // CSS pixels between charts
const HEAD = 26; // of a chart's title

/** All rows and all metrics that any of them has; a cell is empty where a row lacks one (RFC 4180). A spreadsheet takes no name for a formula. */
export function csvOf(rows: readonly MetricsRow[]): string {
  const keys = [...new Set(rows.flatMap((row) => Object.keys(row)))];
  const plain = (text: string) => text.replace(/(^|[;\t\r\n])(?=[ "]*[=+@\-\t\r\n\uff1d\uff0b\uff0d\uff20])/g, "$1'");
  const quoted = (text: string) => (/[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);
  const lines = [keys.map((key) => quoted(plain(key))), ...rows.map((row) => keys.map((key) => String(row[key] ?? "")))];
  return lines.map((cells) => `${cells.join(",")}\r\n`).join("");
}

/** One chart as it is drawn, with the words around it. */
export interface Drawn {
  title: string;
  legend: { text: string; colour: string }[];
  canvas: HTMLCanvasElement;
}

/** The charts below one another on one background. Rejects with an Error of one or two sentences where there is none, or no canvas to draw on. */
export async function pngOf(charts: readonly Drawn[], look: { background: string; text: string; font: string }): Promise<Blob> {
  if (charts.length === 0) throw new Error("No curve is drawn yet. Export CSV instead.");
  const dpi = devicePixelRatio || 1;
  const sizes = charts.map(({ canvas }) => ({ width: canvas.width / dpi, height: canvas.height / dpi }));
  const sheet = document.createElement("canvas");
  sheet.width = dpi * (Math.max(...sizes.map(({ width }) => width)) + 2 * GAP);
  sheet.height = dpi * sizes.reduce((sum, { height }) => sum + HEAD + height + GAP, GAP);
  const pen = sheet.getContext("2d");
  if (!pen) throw new Error("This browser cannot draw the charts as PNG. Export CSV instead.");
  pen.scale(dpi, dpi);
  pen.fillStyle = look.background;
  pen.fillRect(0, 0, sheet.width, sheet.height);
  pen.textBaseline = "top";
  let y = GAP;
  charts.forEach(({ title, legend, canvas }, index) => {
    const { width, height } = sizes[index]!;
    pen.font = `600 13px ${look.font}`;
    pen.fillStyle = look.text;
    pen.fillText(title, GAP, y);
    let x = GAP + pen.measureText(title).width + GAP;
    pen.font = `13px ${look.font}`;
    for (const { text, colour } of legend) {
      pen.fillStyle = colour;
      pen.fillText(text, x, y + 1);
      x += pen.measureText(text).width + GAP;
    }
    pen.drawImage(canvas, GAP, y + HEAD, width, height);
    y += HEAD + height + GAP;
  });
  return new Promise((resolve, reject) =>
    sheet.toBlob((blob) => (blob ? resolve(blob) : reject(new Error("This browser could not write the PNG. Export CSV instead."))), "image/png"),
  );
}
