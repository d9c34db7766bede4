/**
 * A widget's traits over a websocket, for a page without a notebook, in place of the ipywidgets model. The page's end of
 * dshq_widget/widget/play_comm.py, which describes a frame. It emits `comm:close` when the connection is lost and reconnects by itself.
 */
import { bytesOf } from "../../contract/bytes";
import type { Model, Traits } from "../../contract/model";
import type { PageToKernel } from "../../contract/protocol";

type Handler = (...values: never[]) => void;
type Json = Record<string, unknown>;
type Path = (string | number)[];
interface Update {
  method?: "update" | "echo_update" | "custom";
  content?: unknown;
  state?: Json;
  buffer_paths?: Path[];
}
export interface Message {
  type: "comm_open" | "comm_msg" | "comm_close";
  data: Update;
}

const TOO_SLOW = 4001; // why the server ended the connection
const RETRY_MS = 1_000; // before the first try to connect again; twice as long before the next
const RETRY_MS_MAX = 10_000;

export class SocketModel implements Model {
  readonly restart = "Start dshq play again and open the address that it prints.";
  private traits: Partial<Traits> & Json = {};
  private readonly unsaved = new Set<string>();
  private readonly listeners = new Map<string, Set<Handler>>();
  private socket: WebSocket | null = null;
  private pause = RETRY_MS;
  private closed = false;

  /** `opened` is called once the traits are here for the first time, `closed` when the kernel has closed the widget. */
  constructor(
    private readonly url: string,
    private opened: (() => void) | null,
    private readonly ended: () => void,
  ) {
    this.connect();
  }

  get<K extends keyof Traits>(name: K): Traits[K] {
    return this.traits[name] as Traits[K];
  }

  set<K extends keyof Traits>(name: K, value: Traits[K]): void {
    if (same(this.traits[name], value)) return;
    this.traits = { ...this.traits, [name]: value };
    this.unsaved.add(name);
    this.emit(`change:${name}`);
  }

  save_changes(): void {
    if (this.unsaved.size === 0 || !this.connected) return;
    const changed = Object.fromEntries([...this.unsaved].map((name) => [name, this.traits[name]]));
    this.unsaved.clear();
    const { state, paths, buffers } = withoutBuffers(changed);
    this.post({ method: "update", state, buffer_paths: paths }, buffers);
  }

  /** Does nothing where nobody is there: the page has heard `comm:close`. */
  send(message: PageToKernel, _callbacks?: unknown, buffers: ArrayBuffer[] = []): void {
    if (this.connected) this.post({ method: "custom", content: message }, buffers);
  }

  on(event: string, handler: Handler): void {
    this.listeners.set(event, (this.listeners.get(event) ?? new Set()).add(handler));
  }

  off(event: string, handler: Handler): void {
    this.listeners.get(event)?.delete(handler);
  }

  private get connected(): boolean {
    return this.socket?.readyState === WebSocket.OPEN;
  }

  private post(data: Update, buffers: readonly (ArrayBuffer | ArrayBufferView)[]): void {
    this.socket?.send(packed(data, buffers));
  }

  private connect(): void {
    const socket = new WebSocket(this.url);
    socket.binaryType = "arraybuffer";
    socket.onmessage = ({ data }: MessageEvent<ArrayBuffer>) => this.hear(data);
    socket.onclose = ({ code }) => {
      if (this.closed) return;
      this.emit("comm:close");
      setTimeout(() => this.connect(), code === TOO_SLOW ? 0 : this.pause);
      this.pause = Math.min(2 * this.pause, RETRY_MS_MAX);
    };
    this.socket = socket;
  }

  private hear(frame: ArrayBuffer): void {
    const { message, buffers } = unpacked(frame);
    const { type, data } = message;
    if (type === "comm_close") {
      this.closed = true;
      this.emit("comm:close");
      this.ended();
      return;
    }
    if (data.method === "custom") {
      this.emit("msg:custom", data.content, buffers);
      return;
    }
    for (const [k, path] of (data.buffer_paths ?? []).entries()) putBuffer(data.state!, path, buffers[k]!);
    this.take(data.state!);
    if (type !== "comm_open") return;
    this.pause = RETRY_MS;
    this.unsaved.clear(); // what was changed here while nobody listened
    if (!this.opened) this.emit("change:seq"); // the kernel speaks again
    this.opened?.();
    this.opened = null;
  }

  /** Traits as the kernel has them: all of them first, then every listener hears of those that are new. */
  private take(state: Json): void {
    const changed = Object.keys(state).filter((name) => !same(this.traits[name], state[name]));
    this.traits = { ...this.traits, ...state };
    for (const name of changed) this.unsaved.delete(name);
    for (const name of changed) this.emit(`change:${name}`);
  }

  private emit(event: string, ...values: unknown[]): void {
    for (const handler of [...(this.listeners.get(event) ?? [])]) handler(...(values as never[]));
  }
}

/** A frame: how many parts, their lengths (u32, little-endian), the parts; the first is JSON. */
export function packed(data: object, buffers: readonly (ArrayBuffer | ArrayBufferView)[]): Uint8Array<ArrayBuffer> {
  const parts = [new TextEncoder().encode(JSON.stringify(data)), ...buffers.map(bytesOf)];
  const header = 4 + 4 * parts.length;
  const frame = new Uint8Array(header + parts.reduce((sum, part) => sum + part.byteLength, 0));
  const numbers = new DataView(frame.buffer);
  numbers.setUint32(0, parts.length, true);
  let at = header;
  for (const [k, part] of parts.entries()) {
    numbers.setUint32(4 + 4 * k, part.byteLength, true);
    frame.set(part, at);
    at += part.byteLength;
  }
  return frame;
}

export function unpacked(frame: ArrayBuffer): { message: Message; buffers: DataView<ArrayBuffer>[] } {
  const numbers = new DataView(frame);
  const count = numbers.getUint32(0, true);
  let at = 4 + 4 * count;
  const parts = Array.from({ length: count }, (_, k) => {
    const length = numbers.getUint32(4 + 4 * k, true);
    const part = new DataView(frame, at, length);
    at += length;
    return part;
  });
  return { message: JSON.parse(new TextDecoder().decode(parts[0])) as Message, buffers: parts.slice(1) };
}

/** A state without its bytes, where each of them stood, and the bytes: as ipywidgets sends them. */
export function withoutBuffers(given: Json): { state: Json; paths: Path[]; buffers: (ArrayBuffer | ArrayBufferView)[] } {
  const paths: Path[] = [];
  const buffers: (ArrayBuffer | ArrayBufferView)[] = [];
  const strip = (value: unknown, path: Path): unknown => {
    if (isBytes(value)) {
      paths.push(path);
      buffers.push(value);
      return null;
    }
    if (Array.isArray(value)) return value.map((item, k) => strip(item, [...path, k]));
    if (value === null || typeof value !== "object") return value;
    return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, strip(item, [...path, key])]));
  };
  return { state: strip(given, []) as Json, paths, buffers };
}

function putBuffer(state: Json, path: Path, buffer: DataView): void {
  let holder = state;
  for (const key of path.slice(0, -1)) holder = holder[key] as Json;
  holder[path.at(-1)!] = buffer;
}

/** Whether two values of a trait are the same, bytes included. */
export function same(a: unknown, b: unknown): boolean {
  if (Object.is(a, b)) return true;
  if (isBytes(a) || isBytes(b)) return isBytes(a) && isBytes(b) && sameBytes(bytesOf(a), bytesOf(b));
  if (a === null || b === null || typeof a !== "object" || typeof b !== "object") return false;
  if (Array.isArray(a) !== Array.isArray(b)) return false;
  const keys = Object.keys(a);
  return keys.length === Object.keys(b).length && keys.every((key) => key in b && same((a as Json)[key], (b as Json)[key]));
}

function isBytes(value: unknown): value is ArrayBuffer | ArrayBufferView {
  return value instanceof ArrayBuffer || ArrayBuffer.isView(value);
}

function sameBytes(a: Uint8Array, b: Uint8Array): boolean {
  return a.byteLength === b.byteLength && a.every((byte, k) => byte === b[k]);
}
