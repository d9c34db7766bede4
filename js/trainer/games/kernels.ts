/** The learner's functions, called with records of numbers: what the processor's run computes, compiled to WebAssembly. */
import { REALS, RECORDS } from "../tables";
import type { Block, Heap } from "./heap";

export type RecordName = keyof typeof RECORDS;
export type RecordValues = Record<string, number>;

const REAL = new Set<string>(REALS);

export class Kernels {
  private readonly functions: Record<RecordName, (record: bigint) => void>;
  private readonly records: Record<RecordName, Block>;

  constructor(
    readonly heap: Heap,
    exports: WebAssembly.Exports,
  ) {
    this.functions = exports as unknown as typeof this.functions;
    const records = Object.entries(RECORDS).map(([name, fields]) => [name, heap.take(8 * fields.length)]);
    this.records = Object.fromEntries(records) as typeof this.records;
  }

  /** Calls a function with a record of these values, 0 where there is none. */
  call(name: RecordName, values: RecordValues): void {
    const fields: readonly string[] = RECORDS[name];
    const record = this.records[name];
    const { i32, f64 } = record;
    for (let k = 0; k < fields.length; k++) {
      const field = fields[k]!;
      const value = values[field] ?? 0;
      if (REAL.has(field)) f64[k] = value;
      else {
        i32[2 * k] = value | 0;
        i32[2 * k + 1] = Math.floor(value / 2 ** 32);
      }
    }
    this.functions[name](BigInt(record.at));
  }

  /** Calls a function that writes numbers into these fields of its record; whole ones are below 2^31. */
  values(name: RecordName, values: RecordValues, ...fields: string[]): number[] {
    this.call(name, values);
    const { f64, i32 } = this.records[name];
    const places: readonly string[] = RECORDS[name];
    return fields.map((field) => (REAL.has(field) ? f64[places.indexOf(field)]! : i32[2 * places.indexOf(field)]!));
  }
}
