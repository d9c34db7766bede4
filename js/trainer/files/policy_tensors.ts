/** The tensors of a policy file, as safetensors lays them out: one after another, the widest types first, then by name. */
import { FILE } from "../tables";
import { quoted } from "./format";
import type { Tensor } from "./tensor";

/** A file cannot be saved or is not a usable policy. The message is one sentence. */
export class PolicyFileError extends Error {}

const NAMES = /^(?:weights|adam_m|adam_v|adam_step|(?:generator|normalizer|train)[a-z0-9_.]{0,60})$/;
const ARRAYS = {
  U64: BigUint64Array,
  I64: BigInt64Array,
  F64: Float64Array,
  F32: Float32Array,
  U32: Uint32Array,
  I32: Int32Array,
  U8: Uint8Array,
} as const; // in the order in which a file has them
type Dtype = keyof typeof ARRAYS;

interface Entry {
  dtype: Dtype;
  shape: number[];
  data_offsets: [begin: number, end: number];
}

/** The header's entries of `tensors`, and their bytes. */
export function writeTensors(tensors: Readonly<Record<string, Tensor>>): { entries: Record<string, Entry>; data: Uint8Array } {
  const order = Object.keys(ARRAYS);
  const names = Object.keys(tensors).sort();
  const sorted = names.sort((a, b) => order.indexOf(tensors[a]!.dtype) - order.indexOf(tensors[b]!.dtype));
  const entries: Record<string, Entry> = {};
  let position = 0;
  for (const name of sorted) {
    const { dtype, shape, data } = tensors[name]!;
    entries[name] = { dtype, shape, data_offsets: [position, position + data.byteLength] };
    position += data.byteLength;
  }
  const bytes = new Uint8Array(position);
  for (const name of sorted) {
    const { buffer, byteOffset, byteLength } = tensors[name]!.data;
    bytes.set(new Uint8Array(buffer, byteOffset, byteLength), entries[name]!.data_offsets[0]);
  }
  return { entries, data: bytes };
}

/** The tensors that a header lists, copied; they must fill `data` without gap or overlap, and floats must be finite. */
export function readTensors(entries: Readonly<Record<string, unknown>>, data: Uint8Array): Record<string, Tensor> {
  const names = Object.keys(entries);
  if (names.length > FILE.most_tensors) throw new PolicyFileError(`it has ${names.length} tensors, more than ${FILE.most_tensors}`);
  const spans = names.map((name) => {
    if (!NAMES.test(name)) throw new PolicyFileError(`it has a tensor of the unknown name ${quoted([...name].slice(0, 40).join(""))}`);
    const entry = readEntry(name, entries[name]);
    const [begin, end] = entry.data_offsets;
    const bytes = entry.shape.reduce((product, n) => product * n, ARRAYS[entry.dtype].BYTES_PER_ELEMENT);
    if (end - begin !== bytes) throw new PolicyFileError(`tensor ${name} has the wrong length`);
    return { name, begin, end, ...entry };
  });
  spans.sort((a, b) => a.begin - b.begin || a.end - b.end);
  let position = 0;
  const tensors: Record<string, Tensor> = {};
  for (const { name, begin, end, dtype, shape } of spans) {
    if (begin !== position || end > data.length) throw new PolicyFileError("its tensors overlap or leave gaps");
    position = end;
    const values = new ARRAYS[dtype](new Uint8Array(data.subarray(begin, end)).buffer);
    if ((values instanceof Float32Array || values instanceof Float64Array) && !values.every(Number.isFinite)) {
      throw new PolicyFileError(`tensor ${name} has values that are not finite`);
    }
    tensors[name] = { dtype, shape, data: values } as Tensor;
  }
  if (position !== data.length) throw new PolicyFileError("it has bytes that belong to no tensor");
  return tensors;
}

function readEntry(name: string, entry: unknown): Entry {
  const keys = typeof entry === "object" && entry !== null ? Object.keys(entry).sort().join() : "";
  if (keys !== "data_offsets,dtype,shape") throw new PolicyFileError(`tensor ${name} is not described`);
  const { dtype, shape, data_offsets: place } = entry as Record<keyof Entry, unknown>;
  if (typeof dtype !== "string" || !Object.hasOwn(ARRAYS, dtype)) throw new PolicyFileError(`tensor ${name} has an unknown type`);
  if (!Array.isArray(shape) || shape.length > FILE.most_dimensions || !shape.every(isSize)) throw new PolicyFileError(`tensor ${name} has an impossible shape`);
  const [begin, end] = Array.isArray(place) && place.length === 2 && place.every(isSize) ? (place as [number, number]) : [1, 0];
  if (begin > end) {
    throw new PolicyFileError(`tensor ${name} has an impossible place`);
  }
  return { dtype: dtype as Dtype, shape, data_offsets: [begin, end] };
}

function isSize(value: unknown): value is number {
  return typeof value === "number" && Number.isInteger(value) && value >= 0 && value <= FILE.most_bytes;
}
