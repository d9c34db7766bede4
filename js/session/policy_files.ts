/** Policies as `.dshq` files between page and kernel, which packs and checks them. */
import { listen, type Model } from "../contract/model";
import type { KernelToPage, PageToKernel } from "../contract/protocol";

const PART_BYTES = 4 << 20; // Jupyter's server ends a connection that sends more than 10 MiB at once

/** What carries files. */
interface Ends {
  readonly model: Model;
  readonly kernel: { send(message: PageToKernel, buffers?: ArrayBuffer[]): void };
}

/** Asks for the newest policy; resolves with its file once it comes, never if `signal` ends before. */
export function fetchPolicy({ model, kernel }: Ends, signal: AbortSignal): Promise<File> {
  return new Promise((resolve) => {
    const answered = new AbortController();
    signal.addEventListener("abort", () => answered.abort(), { once: true });
    const receive = (message: KernelToPage, buffers: readonly DataView<ArrayBuffer>[] = []) => {
      if (message.type !== "POLICY_FILE" || !buffers[0]) return;
      answered.abort();
      resolve(new File([buffers[0]], message.name));
    };
    listen(model, "msg:custom", receive, answered.signal);
    kernel.send({ type: "SAVE_POLICY" });
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
