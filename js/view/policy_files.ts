/** Saves and loads policies as `.dshq` files. The kernel packs and checks them. */

import { listen } from "../contract/model";
import type { KernelToPage } from "../contract/protocol";
import type { Session } from "../session/session";
import { download } from "../ui/dom";

const PART_BYTES = 4 << 20; // Jupyter's server ends a connection that sends more than 10 MiB at once
export const MOST_BYTES = 64 << 20; // page.py's FILE_BYTES_MAX

/** Asks the kernel for the newest policy and hands it to the browser's downloads once it comes. */
export function savePolicy(session: Session, signal: AbortSignal): void {
  const answered = new AbortController();
  signal.addEventListener("abort", () => answered.abort(), { once: true });
  const receive = (message: KernelToPage, buffers: readonly DataView<ArrayBuffer>[] = []) => {
    if (message.type !== "POLICY_FILE" || !buffers[0]) return;
    answered.abort();
    download(message.name, new Blob([buffers[0]]));
  };
  listen(session.model, "msg:custom", receive, answered.signal);
  session.kernel.send({ type: "SAVE_POLICY" });
}

/** Sends a file to the kernel, which says what became of it. Throws an Error for one that is too large. */
export async function loadPolicy(session: Session, file: File): Promise<void> {
  if (file.size > MOST_BYTES) throw new Error(`${file.name} is larger than ${MOST_BYTES >> 20} MB. Load it from Python with widget.load(path).`);
  session.events.emit("notice", "");
  const parts = Math.max(1, Math.ceil(file.size / PART_BYTES));
  for (let part = 0; part < parts; part++) {
    const piece = await file.slice(part * PART_BYTES, (part + 1) * PART_BYTES).arrayBuffer();
    session.kernel.send({ type: "LOAD_POLICY", name: file.name, part, parts }, [piece]);
  }
}

/** A file that is dropped anywhere on `root` is a policy to load; `dropping` says when one hangs over it. */
export function takeDrops(root: HTMLElement, session: Session, signal: AbortSignal): void {
  const carries = ({ dataTransfer }: DragEvent) => dataTransfer?.types.includes("Files") ?? false;
  const over = (event: DragEvent) => {
    if (!carries(event)) return;
    event.preventDefault();
    event.stopPropagation();
    root.toggleAttribute("data-dropping", session.kernel.connected);
  };
  const leave = (event: DragEvent) => {
    if (!(event.relatedTarget instanceof Node && root.contains(event.relatedTarget))) root.removeAttribute("data-dropping");
  };
  const drop = (event: DragEvent) => {
    if (!carries(event)) return;
    event.preventDefault();
    event.stopPropagation();
    root.removeAttribute("data-dropping");
    const file = event.dataTransfer?.files[0];
    if (!file) return;
    if (!session.kernel.connected) session.events.emit("notice", "Loading a policy needs a kernel. Run the cell again.");
    else loadPolicy(session, file).catch((error: Error) => session.events.emit("notice", error.message));
  };
  root.addEventListener("dragover", over, { signal });
  root.addEventListener("dragleave", leave, { signal });
  root.addEventListener("drop", drop, { signal });
}
