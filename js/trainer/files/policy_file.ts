/**
 * `.dshq` files: a policy and what its training needs to continue, as dshq_widget/policy/checkpoint.py writes and reads them (safetensors;
 * the header's metadata holds strings, among them the SHA-256 of all other metadata and the tensors). Reading checks every length before
 * it allocates.
 */
import { sha256 } from "@noble/hashes/sha2.js";
import { bytesToHex } from "@noble/hashes/utils.js";
import type { Activation } from "../../contract/protocol";
import { DEFAULT_ALGORITHM } from "../../contract/tables";
import { countFloats, parse, shapesOf, workOf } from "../layers";
import { FILE, MOST_WORK } from "../tables";
import { countConvolutionFloats } from "./convolutions";
import { general, quoted, thousands } from "./format";
import { PolicyFileError, readTensors, writeTensors } from "./policy_tensors";
import type { Tensor } from "./tensor";

export { PolicyFileError } from "./policy_tensors";

const [FORMAT, FORMAT_VERSION] = ["dshq", "1"];
const TEXT_KEYS = ["drill", "rules_hash", "activation", "shape_hash"] as const;

const HALF = /\p{Surrogate}/u; // of a character, alone

type Json = Record<string, unknown>;
type Metadata = Record<string, string>;

export interface PolicyFile {
  drill: string;
  rules_hash: string;
  layers: number[];
  activation: Activation;
  weights: Float32Array;
  version: number;
  step: number; // agent steps learned from
  seed: number;
  config: Json;
  metrics: Json;
  algorithm: string;
  algorithm_settings: Json; // empty where it has none
  environment?: Json; // of a Gymnasium environment
  state: Record<string, Tensor>; // the learner's own
}

/** First 16 hex digits of the SHA-256 of `mlp|28|64|64|31|tanh|v1`: the layout that a policy's weights have. */
export function shapeHash(layers: readonly number[], activation: string): string {
  return bytesToHex(sha256(utf8(["mlp", ...layers, activation, "v1"].join("|")))).slice(0, 16);
}

/** The file's bytes; throws PolicyFileError where `decode` would refuse them. */
export async function encode(file: PolicyFile): Promise<Uint8Array> {
  const weights: Tensor = { dtype: "F32", shape: [file.weights.length], data: file.weights };
  const { entries, data } = writeTensors({ weights, ...file.state });
  const metadata: Metadata = {
    format: FORMAT!,
    format_version: FORMAT_VERSION!,
    drill: file.drill,
    rules_hash: file.rules_hash,
    layers: JSON.stringify(file.layers),
    activation: file.activation,
    shape_hash: shapeHash(file.layers, file.activation),
    version: String(file.version),
    step: String(file.step),
    seed: String(file.seed),
    config: written(file.config, "config"),
    metrics: written(Object.fromEntries(Object.entries(file.metrics).filter(([, value]) => isPlain(value))), "metrics"),
    algorithm: file.algorithm,
  };
  if (Object.keys(file.algorithm_settings).length > 0) metadata.algorithm_settings = written(file.algorithm_settings, "algorithm's settings");
  if (file.environment) metadata.environment = written(file.environment, "environment");
  metadata.sha256 = digest(metadata, data);
  const text = JSON.stringify({ __metadata__: metadata, ...entries });
  const header = utf8(text + " ".repeat(-utf8(text).length & 7));
  const content = new Uint8Array(8 + header.length + data.length);
  new DataView(content.buffer).setBigUint64(0, BigInt(header.length), true);
  content.set(header, 8);
  content.set(data, 8 + header.length);
  await decode(content);
  return content;
}

/** Checks a file's bytes and takes them apart; throws PolicyFileError. */
export async function decode(content: Uint8Array): Promise<PolicyFile> {
  const headerBytes = headerLength(content);
  const { __metadata__: metadata, ...entries } = readHeader(content.subarray(8, 8 + headerBytes));
  if (!isMetadata(metadata)) throw new PolicyFileError("its header has no metadata");
  if (metadata.format !== FORMAT) throw new PolicyFileError("it is a safetensors file of another program");
  if (metadata.format_version !== FORMAT_VERSION) {
    const found = quoted([...(metadata.format_version ?? "")].slice(0, 20).join(""));
    throw new PolicyFileError(`its format is version ${found}, this program reads ${FORMAT_VERSION}: update dshq-widget`);
  }
  const data = content.subarray(8 + headerBytes);
  if (metadata.sha256 !== digest(metadata, data)) throw new PolicyFileError("its contents do not match its sha256: the file is damaged");
  const [drill, rules_hash, activation, shape_hash] = TEXT_KEYS.map((key) => textOf(metadata, key)) as [string, string, string, string];
  const { layers, floats } = readLayers(metadata);
  if (!isActivation(activation) || shape_hash !== shapeHash(layers, activation)) {
    throw new PolicyFileError("its network shape does not match its shape hash");
  }
  const { weights, ...state } = readTensors(entries, data);
  const environment = "environment" in metadata ? readEnvironment(metadata.environment!) : undefined;
  const wanted = shapesOfPictures(environment).reduce((sum, shape) => sum + countConvolutionFloats(shape), floats);
  if (weights?.dtype !== "F32" || weights.shape.length !== 1 || weights.shape[0] !== wanted) {
    throw new PolicyFileError(`its weights are not the ${thousands(wanted)} floats that layers [${layers.join(", ")}] need`);
  }
  const [first, second] = [state.adam_m, state.adam_v];
  if (String(first?.shape) !== String(second?.shape)) throw new PolicyFileError("its optimiser moments do not belong together");
  const updates = state["train.updates"]?.data;
  const made = updates?.length === 1 ? Number(updates[0]) : -1;
  if (updates && !(made >= 0 && made <= FILE.most_count)) throw new PolicyFileError("its number of updates is not a count");
  return {
    ...{ drill, rules_hash, layers, activation, weights: weights.data },
    version: countOf(metadata, "version"),
    step: countOf(metadata, "step"),
    seed: countOf(metadata, "seed"),
    config: parsed(textOf(metadata, "config"), "config"),
    metrics: parsed(textOf(metadata, "metrics"), "metrics"),
    state,
    ...(environment && { environment }),
    algorithm: algorithmOf(metadata),
    algorithm_settings: parsed(metadata.algorithm_settings ?? "{}", "algorithm's settings"),
  };
}

/** The header's length. */
function headerLength(content: Uint8Array): number {
  const size = content.length;
  if (size > FILE.most_bytes) throw new PolicyFileError(`it has ${thousands(size)} bytes, more than the ${thousands(FILE.most_bytes)} that are allowed`);
  const foreign = content[8] !== 0x7b; // the length of a valid header may begin with the same bytes
  if (foreign && content[0] === 0x50 && content[1] === 0x4b) {
    throw new PolicyFileError("it is a zip archive (npz or torch), and only .dshq files are read");
  }
  if (foreign && content[0] === 0x80) throw new PolicyFileError("it is a Python pickle, which could run code, and only .dshq files are read");
  if (size < 9) throw new PolicyFileError(`it has only ${size} bytes`);
  const length = new DataView(content.buffer, content.byteOffset).getBigUint64(0, true);
  if (length > FILE.most_of_header || foreign) throw new PolicyFileError("it does not start with a .dshq header");
  if (8 + Number(length) > size) throw new PolicyFileError("it ends inside its header: it was cut off");
  return Number(length);
}

/** A header holds no fractions: a number written as one becomes null, and is refused where it stands. */
function readHeader(bytes: Uint8Array): Json {
  let text: string;
  try {
    text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    throw new PolicyFileError("its header is not valid JSON");
  }
  // Each token is read once: a text without an end, and a number without one, match as they stand.
  const token = /"(?:[^"\\]|\\[\s\S])*"?|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g;
  const whole = text.replace(token, (found) => (/^[-\d]+$|^"/.test(found) ? found : "null"));
  return parsed(whole, "header");
}

/** The SHA-256 of Python's `json.dumps(metadata, sort_keys=True)`, without its own entry, and the tensors. */
function digest(metadata: Metadata, data: Uint8Array): string {
  const keys = Object.keys(metadata).filter((key) => key !== "sha256");
  const rows = keys.sort(byCodePoints).map((key) => `${ascii(key)}: ${ascii(metadata[key]!)}`);
  const hash = sha256.create().update(utf8(`{${rows.join(", ")}}`));
  return bytesToHex(hash.update(data).digest());
}

/** A text in JSON with every character outside ASCII escaped. */
function ascii(text: string): string {
  return JSON.stringify(text).replace(/[\u007f-\uffff]/g, (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

function byCodePoints(a: string, b: string): number {
  const [left, right] = [[...a], [...b]];
  const k = left.findIndex((c, i) => c !== right[i]);
  return k < 0 ? left.length - right.length : left[k]!.codePointAt(0)! - (right[k]?.codePointAt(0) ?? -1);
}

function readLayers(metadata: Metadata): { layers: number[]; floats: number } {
  const text = textOf(metadata, "layers");
  const layers = parsed<unknown[]>(text, "list of layers", Array.isArray);
  const good = layers.every((n) => typeof n === "number" && Number.isInteger(n) && Math.abs(n) >= 1 && Math.abs(n) <= FILE.most_width);
  const sized = good && !/[.e]/i.test(text) && layers.length >= 2 && layers.length <= FILE.most_layers;
  const network = sized ? parse(layers as number[]) : null;
  if (!network) throw new PolicyFileError("its list of layers is not one of a network");
  const costs = workOf(network);
  if (costs > MOST_WORK) {
    throw new PolicyFileError(`its network costs ${thousands(costs)} operations a decision, more than the ${thousands(MOST_WORK)} that are allowed`);
  }
  return { layers: layers as number[], floats: countFloats(shapesOf(network)) };
}

/** The description of a Gymnasium environment, as far as weights depend on it. */
function readEnvironment(text: string): Json {
  const found = parsed(text, "environment");
  const { pixels, pictures = [], actions = {} } = found;
  const listed = Array.isArray(pixels) && Array.isArray(pictures) && !(pixels.length > 0 && pictures.length > 0);
  const side = (n: unknown) => typeof n === "number" && Number.isInteger(n) && n >= 1 && n <= FILE.most_width;
  const good = (shape: unknown) => Array.isArray(shape) && shape.length === 3 && shape.every(side);
  if (!listed || pictures.length > FILE.most_pictures || !shapesOfPictures(found).every(good)) {
    throw new PolicyFileError("its environment has no usable shape of pictures");
  }
  const { kind, sizes: options, shape, start, low, high } = (actions ?? {}) as Json;
  const lists = [options, shape, low, high];
  const numbers = [...lists.flat(), start].every((n) => typeof n === "number" || n === "inf" || n === "-inf");
  if (kind === undefined || !lists.every(Array.isArray) || !numbers) throw new PolicyFileError("the description of the actions is damaged");
  return found;
}

/** The shape of each picture that is read: of one alone, or of those in a row with numbers. */
function shapesOfPictures(environment: Json = {}): number[][] {
  const { pixels = [], pictures = [] } = environment as { pixels?: number[]; pictures?: number[][] };
  return pixels.length > 0 ? [pixels] : pictures;
}

function algorithmOf(metadata: Metadata): string {
  const name = metadata.algorithm ?? DEFAULT_ALGORITHM;
  if (!/^[a-z][a-z0-9_]{0,30}$/.test(name)) throw new PolicyFileError("the name of its algorithm is not one");
  return name;
}

function textOf(metadata: Metadata, key: string): string {
  const text = metadata[key];
  if (text === undefined) throw new PolicyFileError(`its metadata lacks ${key}`);
  return text;
}

function countOf(metadata: Metadata, key: string): number {
  const text = textOf(metadata, key);
  if (!/^[0-9]{1,18}$/.test(text)) throw new PolicyFileError(`its ${key} is not a count`);
  if (Number(text) > FILE.most_count) throw new PolicyFileError(`its ${key} is ${text}, more than a page can count`);
  return Number(text);
}

function parsed<T = Json>(text: string, what: string, kind: (value: unknown) => boolean = isObject): T {
  let value: unknown = null;
  try {
    value = JSON.parse(text);
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
  }
  if (!kind(value)) throw new PolicyFileError(`its ${what} is not valid JSON`);
  const wrong = unusable(value);
  if (wrong) throw new PolicyFileError(`its ${what} cannot be used: ${wrong}`);
  return value as T;
}

/** Why JSON has a number beyond those of a computer, as 1e400 is, or a text that no message can be sent with; empty where it has none. */
function unusable(value: unknown): string {
  const waiting = [value];
  while (waiting.length > 0) {
    const one = waiting.pop();
    if (typeof one === "number" && !Number.isFinite(one)) return `${general(one)} is not finite`;
    if (typeof one === "string" && HALF.test(one)) return "a text has half of a character";
    if (Array.isArray(one)) for (const inner of one) waiting.push(inner);
    else if (typeof one === "object" && one !== null) for (const [name, inner] of Object.entries(one)) waiting.push(name, inner);
  }
  return "";
}

/** JSON text; numbers that are not finite have none. */
function written(value: Json, what: string): string {
  return JSON.stringify(value, (key, item: unknown) => {
    if (!isPlain(item)) throw new PolicyFileError(`${key} of its ${what} is ${item}, and must be finite`);
    return item;
  });
}

function isPlain(value: unknown): boolean {
  return typeof value !== "number" || Number.isFinite(value);
}

function isObject(value: unknown): value is Json {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function isMetadata(value: unknown): value is Metadata {
  return isObject(value) && Object.values(value).every((text) => typeof text === "string");
}

function isActivation(name: string): name is Activation {
  return name === "tanh" || name === "relu";
}

function utf8(text: string): Uint8Array {
  return new TextEncoder().encode(text);
}
