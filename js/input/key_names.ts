/** Names and meanings of a drill's keys. */
import type { DrillSpec } from "../contract/protocol";

/** How a KeyboardEvent.code reads on a key cap. */
const CAPS: Record<string, string> = {
  ArrowUp: "↑",
  ArrowDown: "↓",
  ArrowLeft: "←",
  ArrowRight: "→",
  Space: "Space",
  ShiftLeft: "Shift",
  ShiftRight: "right Shift",
  ControlLeft: "Ctrl",
  ControlRight: "right Ctrl",
};

/** A key's name as printed on it. */
function keyCap(code: string): string {
  return CAPS[code] ?? code.replace(/^(Key|Digit)/, "").replace(/^Numpad/, "num ");
}

export interface KeyHelp {
  choice: string;
  options: { option: string; caps: string[] }[];
}

/** The drill's keys by choice and option, in the order of its `keys`. */
export function keyHelp(spec: DrillSpec): KeyHelp[] {
  const help: KeyHelp[] = [];
  for (const [code, [choice, option]] of Object.entries(spec.keys)) {
    let group = help.find((other) => other.choice === choice);
    if (!group) {
      group = { choice, options: [] };
      help.push(group);
    }
    const known = group.options.find((other) => other.option === option);
    if (known) known.caps.push(keyCap(code));
    else group.options.push({ option, caps: [keyCap(code)] });
  }
  return help;
}
