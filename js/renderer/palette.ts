/**
 * What a palette name looks like, by theme. The sides are blue and orange, which the common kinds of colour blindness keep
 * apart (Okabe and Ito, 2008), and differ in lightness as well.
 */
import type { Theme } from "../protocol";

/** How a colour is painted. */
interface Style {
  shadow?: number; // a soft shadow on the ground
  gloss?: number; // lit from the upper left, with a darker rim
  glow?: number; // light around it
  ground?: number; // how much it is ground: mown bands, darker corners, washed by a goal's colour
  soft?: number; // blur of the edge, in hundredths of the world's width
  actor?: boolean; // moves: motion trails are drawn below it
}

type Paint = readonly [light: string, dark: string, style?: Style]; // #rrggbbaa

const PAINTS: Record<string, Paint> = {
  turf: ["#7cc48bff", "#1d5c4aff", { ground: 1 }],
  line: ["#ffffffd8", "#e6fff4c8"],
  goal0: ["#2b7de0a8", "#3d8df2b0"],
  goal1: ["#f07818a8", "#f5913ab0"],
  ball: ["#ffffffff", "#fff8e8ff", { shadow: 1, gloss: 0.75, glow: 0.25, actor: true }],
  player0: ["#1a6fe0ff", "#3f92ffff", { shadow: 1, gloss: 1, actor: true }],
  player1: ["#f5791fff", "#ff9838ff", { shadow: 1, gloss: 1, actor: true }],
  heading: ["#fffffff2", "#ffffffeb"],
  cooldown: ["#fff6d0e0", "#ffe49ad0"],
  accent: ["#ffc53dff", "#ffd166ff", { glow: 0.5 }],
  shadow: ["#0b3a24c0", "#000000ff", { soft: 1.1, actor: true }],
  wall: ["#f4faf6ff", "#4a9483ff", { shadow: 0.5 }],
  post: ["#ffffffff", "#f4f8f6ff", { shadow: 0.7, gloss: 0.6 }],
  mark: ["#ffffff8c", "#d9f2e65c"],
  mat: ["#c9d6e2ff", "#25313fff", { ground: 0.5 }],
  clay: ["#dcbd82ff", "#7a6444ff", { gloss: 0.2 }],
  floor: ["#c6ccdcff", "#262b3dff", { ground: 0.5 }],
  pillar: ["#8a90a8ff", "#5a6180ff", { shadow: 0.8, gloss: 0.5 }],
  ink: ["#1d2430ff", "#10141cff"],
  target: ["#d6336cff", "#ff6b9aff", { shadow: 0.6, gloss: 0.6, glow: 0.3, actor: true }],
};

/** Names that effects paint with, present in every look. */
const ALWAYS = ["ball", "player0", "player1", "accent", "line", "shadow"];

/** Floats per palette entry: r, g, b, a, shadow, gloss, glow, ground, soft and three to spare. */
export const ENTRY_FLOATS = 12;
export const MAX_ENTRIES = 64;

/** The ground around the pitch, the corners' darkening and the depth of shadows. */
const GROUNDS: Record<Theme, { apron: string; vignette: number; shade: number }> = {
  light: { apron: "#cfe6d3ff", vignette: 0.1, shade: 0.26 },
  dark: { apron: "#132c28ff", vignette: 0.34, shade: 0.42 },
};

/** A drill's palette in one theme, followed by the names effects need. */
export class Look {
  readonly names: readonly string[];
  readonly entries: Float32Array<ArrayBuffer>; // [n * 12]
  readonly apron: readonly number[]; // r, g, b, a
  readonly vignette: number;
  readonly shade: number;

  constructor(
    readonly drill: readonly string[], // the drill's own palette
    readonly theme: Theme,
  ) {
    this.names = [...drill, ...ALWAYS.filter((name) => !drill.includes(name))].slice(0, MAX_ENTRIES);
    const shaded = drill.includes("shadow"); // the drill draws its actors' shadows itself
    this.entries = new Float32Array(this.names.length * ENTRY_FLOATS);
    this.names.forEach((name, k) => {
      const [light, dark, style = {}] = PAINTS[name] ?? fallback(name);
      this.entries.set(rgba(theme === "light" ? light : dark), k * ENTRY_FLOATS);
      const shadow = style.actor && shaded ? 0 : (style.shadow ?? 0);
      this.entries.set([shadow, style.gloss ?? 0, style.glow ?? 0, style.ground ?? 0, style.soft ?? 0], k * ENTRY_FLOATS + 4);
    });
    const ground = GROUNDS[theme];
    this.apron = rgba(ground.apron);
    this.vignette = ground.vignette;
    this.shade = ground.shade;
  }

  index(name: string): number {
    return Math.max(this.names.indexOf(name), 0);
  }

  isActor(index: number): boolean {
    return PAINTS[this.names[index] ?? ""]?.[2]?.actor ?? false;
  }
}

/** Red, green, blue, alpha, each 0..1, of #rrggbbaa. */
export function rgba(hex: string): number[] {
  return [1, 3, 5, 7].map((at) => parseInt(hex.slice(at, at + 2), 16) / 255);
}

/** Red, green, blue, alpha of a name in a look. */
export function rgbaOf(look: Look, name: string): Float32Array {
  const at = look.index(name) * ENTRY_FLOATS;
  return look.entries.subarray(at, at + 4);
}

/** A name nobody planned for gets a hue of its own, the same on every page. */
function fallback(name: string): Paint {
  let hash = 0x811c9dc5; // FNV-1a
  for (const letter of name) hash = Math.imul(hash ^ letter.codePointAt(0)!, 0x01000193) >>> 0;
  const hue = hash % 360;
  return [hexOf(hue, 0.6, 0.45), hexOf(hue, 0.65, 0.65), { shadow: 0.4, gloss: 0.4 }];
}

/** #rrggbbff of hue in degrees, saturation and lightness 0..1 (CSS Color 4, section 7.1). */
function hexOf(hue: number, saturation: number, lightness: number): string {
  const channel = (n: number) => {
    const k = (n + hue / 30) % 12;
    const value = lightness - saturation * Math.min(lightness, 1 - lightness) * Math.max(-1, Math.min(k - 3, 9 - k, 1));
    return Math.round(value * 255).toString(16).padStart(2, "0");
  };
  return `#${channel(0)}${channel(8)}${channel(4)}ff`;
}
