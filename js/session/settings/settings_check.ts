/** Checks a hyper-parameter where it is typed, before any kernel sees it: the short form of contract/setting.py. */

import { scriptsOf } from "../../contract/opponents";
import { pairsIn } from "../../contract/pairs";
import type { ConfigSchemaEntry, ConfigValue, DrillSpec } from "../../contract/protocol";

/**
 * A value as the trait keeps it, tables as `a=1,b=2`, or an Error that says what was wanted: the page's short form of contract/setting.py.
 * `names` are those that a table may have.
 */
export function checkSetting(key: string, value: ConfigValue, entry: ConfigSchemaEntry | undefined, names: readonly string[] = []): ConfigValue {
  if (!entry) throw new Error(`Unknown setting ${key}.`);
  const { min, max, unit, choices, multiple } = entry;
  const range = min == null || max == null ? "" : ` from ${min} to ${max}${unit ? ` ${unit}` : ""}`;
  const wanted = (what: string) => new Error(`${key} must be ${what}, got ${String(value) || "nothing"}.`);
  const number = (given: unknown, what: string) => {
    const found = typeof given === "string" && given.trim() === "" ? Number.NaN : Number(given);
    if (!Number.isFinite(found) || (min != null && found < min) || (max != null && found > max)) throw wanted(what + range);
    return found;
  };
  switch (entry.kind) {
    case "int": {
      const found = number(value, "a whole number");
      if (!Number.isInteger(found)) throw wanted(`a whole number${range}`);
      if (multiple && found % multiple) throw wanted(`a multiple of ${multiple}`);
      return found;
    }
    case "float":
      return number(value, "a number");
    case "bool":
      if (value === true || value === "true") return true;
      if (value === false || value === "false") return false;
      throw wanted("true or false");
    case "choice":
      if (!choices?.includes(String(value))) throw wanted(`one of ${choices?.join(", ")}`);
      return String(value);
    case "sizes": {
      const sizes = Array.isArray(value) ? value : String(value).split(/[,x]/);
      if (sizes.length < 1 || sizes.length > 4) throw wanted("one to four layer widths such as 64,64");
      return sizes.map((size) => Math.trunc(number(size, "one to four layer widths")));
    }
    case "shares":
    case "weights": {
      const pairs = pairsIn(String(value));
      const unknown = pairs.find(([name]) => !names.includes(name));
      if (unknown) throw wanted(`among ${names.join(", ")}`);
      const table = [...new Map(pairs.map(([name, one]) => [name, number(one, "names with numbers, like a=1,b=2")]))];
      const shares = entry.kind === "shares";
      if (shares && (table.some(([, one]) => one < 0) || Math.abs(table.reduce((sum, [, one]) => sum + one, 0) - 1) > 1e-3)) {
        throw wanted("shares that add to 1, like self=.75,random=.25");
      }
      const kept = shares ? table.filter(([, one]) => one > 0) : table; // as the kernel keeps them
      return kept.map(([name, one]) => `${name}=${one}`).join(",");
    }
    default:
      throw new Error(`${key} cannot be changed in the page.`);
  }
}

/** The same of a value in a file: tables are objects there, and may name opponents that only a kernel has. */
export function checkSaved(key: string, value: ConfigValue | Record<string, number>, entry: ConfigSchemaEntry): ConfigValue {
  const rows = typeof value === "object" && !Array.isArray(value) ? Object.entries(value ?? {}) : null;
  const typed = rows ? rows.map(([name, number]) => `${name}=${number}`).join(",") : (value as ConfigValue);
  const names = typeof typed === "string" ? typed.split(",").map((part) => part.split("=")[0]!.trim()) : [];
  return checkSetting(key, typed, entry, names);
}

/** Names that a table of this kind may have, for a drill. */
export function namesFor(kind: string | undefined, spec: Pick<DrillSpec, "terms" | "baselines"> | undefined): string[] {
  if (kind === "weights") return (spec?.terms ?? []).map(({ name }) => name);
  return ["self", "pool", ...scriptsOf(spec)];
}
