/** The two sides' colours, as people with each kind of colour blindness see them. */
import { describe, expect, it } from "vitest";
import { Look, rgbaOf } from "../../renderer/palette";

type Triple = readonly [number, number, number];

/** Full loss of one kind of cone, on linear RGB: Machado, Oliveira and Fernandes (2009), table 1, severity 1. */
const BLIND: Record<string, readonly Triple[]> = {
  protanopia: [
    [0.152286, 1.052583, -0.204868],
    [0.114503, 0.786281, 0.099216],
    [-0.003882, -0.048116, 1.051998],
  ],
  deuteranopia: [
    [0.367322, 0.860646, -0.227968],
    [0.280085, 0.672501, 0.047413],
    [-0.01182, 0.04294, 0.968881],
  ],
  tritanopia: [
    [1.255528, -0.076749, -0.178779],
    [-0.078411, 0.930809, 0.147602],
    [0.004733, 0.691367, 0.3039],
  ],
  achromatopsia: [
    [0.2126, 0.7152, 0.0722],
    [0.2126, 0.7152, 0.0722],
    [0.2126, 0.7152, 0.0722],
  ], // luminance alone
};

const times = (matrix: readonly Triple[], v: Triple): Triple => {
  const row = (r: Triple) => Math.min(1, Math.max(0, r[0] * v[0] + r[1] * v[1] + r[2] * v[2]));
  return [row(matrix[0]!), row(matrix[1]!), row(matrix[2]!)];
};
const linear = (c: number) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4); // IEC 61966-2-1

/** CIE L*a*b* of linear sRGB, white point D65. */
function lab(rgb: Triple): Triple {
  const xyz = [
    [0.4124, 0.3576, 0.1805, 0.9505],
    [0.2126, 0.7152, 0.0722, 1],
    [0.0193, 0.1192, 0.9505, 1.089],
  ].map(([r, g, b, white]) => (r! * rgb[0] + g! * rgb[1] + b! * rgb[2]) / white!);
  const [x, y, z] = xyz.map((t) => (t > (6 / 29) ** 3 ? Math.cbrt(t) : t / (3 * (6 / 29) ** 2) + 4 / 29)) as [number, number, number];
  return [116 * y - 16, 500 * (x - y), 200 * (y - z)];
}

/** CIE 1976 colour difference of two names of a palette; about 2 is just noticeable. */
function difference(look: Look, one: string, other: string, blind: readonly Triple[]): number {
  const seen = [one, other].map((name) => {
    const [r, g, b] = rgbaOf(look, name);
    return lab(times(blind, [linear(r!), linear(g!), linear(b!)]));
  });
  return Math.hypot(...seen[0]!.map((value, k) => value - seen[1]![k]!));
}

describe.each(["light", "dark"] as const)("in the %s theme", (theme) => {
  const look = new Look(["turf", "player0", "player1", "ball"], theme);

  it.each(["protanopia", "deuteranopia", "tritanopia"])("%s keeps the sides far apart", (kind) => {
    expect(difference(look, "player0", "player1", BLIND[kind]!)).toBeGreaterThan(40);
    for (const name of ["player0", "player1", "ball"]) expect(difference(look, name, "turf", BLIND[kind]!), name).toBeGreaterThan(15);
  });

  it("even without any colour they differ in lightness", () => {
    expect(difference(look, "player0", "player1", BLIND.achromatopsia!)).toBeGreaterThan(10);
  });
});
