/** All settings of a run by the keys of messages: the algorithm's own come first, as `gate.threshold`, then those it shares with others. */

import type { ConfigSchemaEntry, ConfigTrait, ConfigValue } from "../../contract/protocol";

interface RunSettings {
  values: Record<string, ConfigValue>;
  defaults: Record<string, ConfigValue>;
  schema: Record<string, ConfigSchemaEntry>;
}

export function runSettings(config: ConfigTrait | undefined): RunSettings {
  const { algorithm: own, values = {}, defaults = {}, schema = {} } = config ?? {};
  const prefixed = <T>(rows: Record<string, T> = {}) => Object.fromEntries(Object.entries(rows).map(([key, row]) => [`${own?.name}.${key}`, row]));
  return {
    values: { ...prefixed(own?.values), ...values },
    defaults: { ...prefixed(own?.defaults), ...defaults },
    schema: { ...prefixed(own?.schema), ...schema },
  };
}

/** A key as its section writes it: `threshold` of `gate.threshold`. */
export function plainKey(key: string): string {
  return key.slice(key.indexOf(".") + 1);
}
