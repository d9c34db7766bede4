/** Colours of the palette names by theme: the table of dshq_widget/drill/palette.py in the renderers' form. */
import type { Theme } from "../contract/protocol";
import { GROUNDS, PAINTS } from "../contract/tables";

/** How a colour is painted; dshq_widget/drill/palette.py says what each means. */
interface Paint {
  light: string; // #rrggbbaa
  dark: string;
  shadow?: number;
  gloss?: number;
  glow?: number;
  ground?: number;
  soft?: number;
  actor?: boolean;
}

const paints: Readonly<Record<string, Paint>> = PAINTS;

/** Names that effects paint with, present in every look. */
const ALWAYS = ["ball", "player0", "player1", "accent", "line", "shadow"];

/** Floats per palette entry: r, g, b, a, shadow, gloss, glow, ground, soft and three to spare. */
export const ENTRY_FLOATS = 12;
export const MAX_ENTRIES = 64;

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
      const { [theme]: colour, shadow = 0, gloss = 0, glow = 0, ground = 0, soft = 0, actor } = paints[name] ?? fallback(name);
      this.entries.set(rgba(colour), k * ENTRY_FLOATS);
      this.entries.set([actor && shaded ? 0 : shadow, gloss, glow, ground, soft], k * ENTRY_FLOATS + 4);
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
    return paints[this.names[index] ?? ""]?.actor ?? false;
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

/** A name nobody planned for gets a hue of its own, the same everywhere (dshq_widget/drill/palette.py has the same lines). */
function fallback(name: string): Paint {
  let hash = 0x811c9dc5; // FNV-1a
  for (const letter of name) hash = Math.imul(hash ^ letter.codePointAt(0)!, 0x01000193) >>> 0;
  const hue = hash % 360;
  return { light: hexOf(hue, 0.6, 0.45), dark: hexOf(hue, 0.65, 0.65), shadow: 0.4, gloss: 0.4 };
}

/** #rrggbbff of hue in degrees, saturation and lightness 0..1 (CSS Color 4, section 7.1). */
function hexOf(hue: number, saturation: number, lightness: number): string {
  const channel = (n: number) => {
    const k = (n + hue / 30) % 12;
    const value = lightness - saturation * Math.min(lightness, 1 - lightness) * Math.max(-1, Math.min(k - 3, 9 - k, 1));
    return Math.round(value * 255)
      .toString(16)
      .padStart(2, "0");
  };
  return `#${channel(0)}${channel(8)}${channel(4)}ff`;
}
