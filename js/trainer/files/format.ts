/** Numbers and texts as Python writes them, so that a sentence reads the same from the page and from the kernel. */

/** `format(value, ".3g")`: three significant digits, without zeros at the end. */
export function general(value: number): string {
  if (!Number.isFinite(value)) return String(value).toLowerCase().replace("infinity", "inf");
  if (value === 0) return Object.is(value, -0) ? "-0" : "0";
  const [digits, exponent] = rounded(value.toExponential(2), value.toExponential(40), /^-?\d\.\d\d/).split("e") as [string, string];
  const power = Number(exponent);
  if (power >= -4 && power < 3) return trimmed(Number(`${digits}e${power}`).toFixed(2 - power));
  return `${trimmed(digits)}e${power < 0 ? "-" : "+"}${String(Math.abs(power)).padStart(2, "0")}`;
}

/** `format(share, ".1%")`. */
export function percent(share: number): string {
  const value = 100 * share;
  return `${rounded(value.toFixed(1), value.toFixed(40), /^-?\d+\.\d/)}%`;
}

/** Of two numbers that are equally near Python takes the even one, JavaScript the larger: `exact` has more digits, `kept` are those that stay. */
function rounded(near: string, exact: string, kept: RegExp): string {
  const lower = kept.exec(exact)![0];
  const tie = /^50*(e|$)/.test(exact.slice(lower.length));
  return tie && /[02468]$/.test(lower) ? near.replace(kept, lower) : near;
}

function trimmed(digits: string): string {
  return digits.includes(".") ? digits.replace(/\.?0+$/, "") : digits;
}

/** `format(count, ",")` of a whole number. */
export function thousands(count: number): string {
  return String(count).replace(/\B(?=(\d{3})+$)/g, ",");
}

const ESCAPES: Record<string, string> = { "\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t" };

/** `repr(text)`, for characters that can be printed and those below 256. */
export function quoted(text: string): string {
  const quote = text.includes("'") && !text.includes('"') ? '"' : "'";
  const inside = text.replace(/[\\\p{Cc}\xa0\xad]/gu, (c) => ESCAPES[c] ?? `\\x${c.charCodeAt(0).toString(16).padStart(2, "0")}`);
  return quote + (quote === "'" ? inside.replaceAll("'", "\\'") : inside) + quote;
}
