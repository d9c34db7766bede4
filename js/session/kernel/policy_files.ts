/** Files between page and kernel: policies as `.dshq`, which the kernel packs and checks, and the match as a web page. */
import { listen, type Model } from "../../contract/model";
import type { KernelToPage, PageToKernel } from "../../contract/protocol";
import type { Events, SessionEvents } from "../events";

const PART_BYTES = 4 << 20; // Jupyter's server ends a connection that sends more than 10 MiB at once
const GONE = "Kernel disconnected, and no file arrived. Reconnect it and try again, or train in the page.";

/** What carries files. */
interface Ends {
  readonly model: Model;
  readonly events: Events<SessionEvents>;
  readonly kernel: { readonly connected: boolean; send(message: PageToKernel, buffers?: ArrayBuffer[]): void };
}

type FileMessage = Extract<KernelToPage, { type: "POLICY_FILE" | "PAGE_FILE" }>;
/** A kernel that runs on after an upgrade of the package, and hands out the new page, names no request. */
type Answer = Omit<FileMessage, "request"> & { request?: number };
type FileRequest = Extract<PageToKernel, { type: "SAVE_POLICY" | "SAVE_PAGE" }>;

/**
 * Asks for the newest policy, or for the `whole` run with optimiser and league; resolves with its file once it comes, never if `signal`
 * ends before. Rejects with an Error of one sentence where the kernel cannot make it, or is gone.
 */
export function fetchPolicy(ends: Ends, signal: AbortSignal, whole = false): Promise<File> {
  return fetchFile(ends, { type: "SAVE_POLICY", whole, request: another() }, "POLICY_FILE", signal);
}

/** The same of the match as a web page. Rejects with an Error of one sentence where the kernel cannot make one. */
export function fetchPage(ends: Ends, signal: AbortSignal): Promise<File> {
  return fetchFile(ends, { type: "SAVE_PAGE", request: another() }, "PAGE_FILE", signal);
}

/** A request's number: every page of a widget hears the answers to all of them. */
function another(): number {
  return Math.floor(Math.random() * Number.MAX_SAFE_INTEGER);
}

function fetchFile({ model, events, kernel }: Ends, request: FileRequest, answer: FileMessage["type"], signal: AbortSignal): Promise<File> {
  return new Promise((resolve, reject) => {
    const answered = new AbortController();
    signal.addEventListener("abort", () => answered.abort(), { once: true });
    const receive = (message: KernelToPage, buffers: readonly DataView<ArrayBuffer>[] = []) => {
      if (message.type !== answer) return;
      const { name, problem, request: of = request.request } = message as Answer;
      if (of !== request.request) return;
      if (!buffers[0] && !problem) return;
      answered.abort();
      if (problem) reject(new Error(problem));
      else resolve(new File([buffers[0]!], name));
    };
    const look = () => {
      if (kernel.connected) return;
      answered.abort();
      reject(new Error(GONE));
    };
    listen(model, "msg:custom", receive, answered.signal);
    events.on("status", look, answered.signal);
    kernel.send(request);
  });
}

/** Sends a file, in parts; the kernel says what became of it. */
export async function sendPolicy({ kernel }: Ends, file: File): Promise<void> {
  const parts = Math.max(1, Math.ceil(file.size / PART_BYTES));
  for (let part = 0; part < parts; part++) {
    const piece = await file.slice(part * PART_BYTES, (part + 1) * PART_BYTES).arrayBuffer();
    kernel.send({ type: "LOAD_POLICY", name: file.name, part, parts }, [piece]);
  }
}
