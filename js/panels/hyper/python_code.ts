/** Writes the current settings as Python: the shortest `DrillWidget(...)` with these settings, without defaults. */
import type { ConfigSchemaEntry, ConfigTrait, ConfigValue, ShowTrait } from "../../contract/protocol";
import { DEFAULT_ALGORITHM, SHOW_DEFAULTS } from "../../contract/tables";
import { plainKey, runSettings } from "../../session/settings/run_settings";

export interface Settings {
  drill: string; // as Python names it: "ball" with its quotes, or a class
  config: ConfigTrait;
  drafts: Readonly<Record<string, ConfigValue>>; // what was typed and the kernel does not have yet
  show: ShowTrait;
  controls: readonly string[] | null;
  speed?: number; // at which the drill's show begins
  algorithm?: string; // that the drill declares
}

const WIDTH = 88; // columns; a longer call has a line for each argument
const OF_THE_CODE = ["seed", "match"]; // settings of the show that have an argument, or a call, of their own
const EXPRESSION = /^("[\w .-]+"|[\p{L}_][\p{L}\p{N}_]*)$/u;

export function pythonOf({ drill, config, drafts, show, controls, speed = SHOW_DEFAULTS.speed, algorithm = "" }: Settings): string {
  const { values, defaults, schema } = runSettings(config);
  const now = { ...values, ...drafts };
  const plain = differing(now, defaults, schema);
  const named = Object.entries(config.presets).map(([name, preset]) => [
    `preset=${literal(name)}`,
    ...differing(now, { ...defaults, ...preset.values }, schema),
  ]);
  const hyper = [plain, ...named].reduce((best, other) => (other.length < best.length ? other : best));
  const trained = config.algorithm?.name ?? DEFAULT_ALGORITHM;
  const learner = trained === (algorithm || DEFAULT_ALGORITHM) ? [] : [`algorithm=${literal(trained)}`];
  const begun = config.start?.now ? [`policy=${literal(config.start.now)}`] : [];
  const shown = Object.entries({ ...SHOW_DEFAULTS, speed })
    .filter(([key, value]) => !OF_THE_CODE.includes(key) && show[key as keyof ShowTrait] !== value)
    .map(([key]) => `${key}=${literal(show[key as keyof ShowTrait])}`);
  const panels = controls ? [`controls=[${controls.map(literal).join(", ")}]`] : [];
  const made = call([EXPRESSION.test(drill) ? drill : "drill", ...learner, ...begun, ...hyper, ...shown, ...panels]);

  const head = "from dshq_widget import DrillWidget\n\n";
  if (show.seed === Number(now.seed ?? 0)) return `${head}${made}\n`;
  return `${head}w = ${made}\nw.reset(seed=${Number(show.seed)})\nw\n`;
}

/** Arguments for what differs from `base`; the algorithm's own settings are one argument, a dict. */
function differing(now: ConfigTrait["values"], base: ConfigTrait["values"], schema: Record<string, ConfigSchemaEntry>): string[] {
  const shared: string[] = [];
  const own: string[] = [];
  let section = "";
  for (const [key, value] of Object.entries(now)) {
    const kind = schema[key]?.kind ?? "";
    const text = written(value, kind);
    if (key in base && text === written(base[key]!, kind)) continue;
    if (key.includes(".")) {
      section = key.slice(0, key.indexOf("."));
      own.push(`${literal(plainKey(key))}: ${text}`);
    } else shared.push(`${key}=${text}`);
  }
  return own.length ? [`${section}={${own.join(", ")}}`, ...shared] : shared;
}

function call(parts: string[]): string {
  const line = `DrillWidget(${parts.join(", ")})`;
  return line.length <= WIDTH ? line : `DrillWidget(\n${parts.map((part) => `    ${part},\n`).join("")})`;
}

/** A setting in Python: sizes are a tuple, shares and weights a dict; both may have been typed as text, or come from a file. */
function written(value: ConfigValue, kind: string): string {
  if (kind === "sizes") {
    const sizes = items(value, /[,x]/).map(Number);
    return sizes.length === 1 ? `(${sizes[0]},)` : `(${sizes.join(", ")})`;
  }
  if (kind === "shares" || kind === "weights") {
    const pairs = items(value).map((item) => item.split("=").map((word) => word.trim()));
    return `{${pairs.map(([name = "", number]) => `${literal(name)}: ${Number(number)}`).join(", ")}}`;
  }
  return literal(value);
}

function items(value: ConfigValue, between: string | RegExp = ","): string[] {
  return String(value)
    .split(between)
    .map((item) => item.trim())
    .filter(Boolean);
}

/** JSON's texts and numbers are Python's, too. */
function literal(value: ConfigValue): string {
  return typeof value === "boolean" ? (value ? "True" : "False") : JSON.stringify(value);
}
