/** Formats numbers and times for people. */

const UNITS = [
  [1e12, "T"],
  [1e9, "G"],
  [1e6, "M"],
  [1e3, "k"],
] as const;

/** Two or three significant digits with a metric suffix: 0.042, 950, 12.3k, 1.23M. Not a number: "–". */
export function compact(value: number | null | undefined): string {
  if (value == null || !Number.isFinite(value)) return "–";
  for (const [size, suffix] of UNITS) {
    // 999,500 already reads as 1.00M
    if (Math.abs(value) >= size * 0.9995) return trim((value / size).toPrecision(3)) + suffix;
  }
  if (value === 0 || Number.isInteger(value)) return String(value);
  const size = Math.abs(value);
  if (size < 1e-3) return value.toExponential(0);
  return trim(value.toPrecision(size < 0.1 ? 2 : 3));
}

/** To `places` after the point, with a true minus and no minus before nothing. */
export function fixed(value: number, places = 2): string {
  const text = value.toFixed(places);
  return Number(text) === 0 ? text.replace("-", "") : text.replace("-", "−");
}

/** To hundredths, with a plus where it is not less than nothing. */
export function signed(value: number): string {
  return fixed(value).replace(/^(?=\d)/, "+");
}

/** A share from 0 to 1 in percent. */
export function percent(share: number | null | undefined): string {
  return share == null || !Number.isFinite(share) ? "–" : `${Math.round(100 * share)}%`;
}

/** A speed as a multiple of the usual one: ¼ ×, 4 ×. */
export function multiple(speed: number): string {
  return `${{ 0.25: "¼", 0.5: "½" }[speed] ?? speed} ×`;
}

/** Seconds as m:ss, or h:mm:ss from an hour on. */
export function clock(seconds: number): string {
  const whole = Math.max(0, Math.floor(seconds));
  const [hours, minutes, rest] = [Math.floor(whole / 3600), Math.floor(whole / 60) % 60, whole % 60];
  const two = (n: number) => String(n).padStart(2, "0");
  return hours ? `${hours}:${two(minutes)}:${two(rest)}` : `${minutes}:${two(rest)}`;
}

function trim(digits: string): string {
  return digits.includes(".") && !digits.includes("e") ? digits.replace(/\.?0+$/, "") : digits;
}
