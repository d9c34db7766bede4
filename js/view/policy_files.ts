/** Saves the newest policy as a `.dshq` file, and loads such files. */

import { restartHint } from "../session/kernel/lost_kernel";
import { fetchPolicy, sendPolicy } from "../session/kernel/policy_files";
import type { Session } from "../session/session";
import { download } from "../ui/dom";

export const MOST_BYTES = 64 << 20; // page.py's FILE_BYTES_MAX

/** Asks the kernel for the newest policy and hands it to the browser's downloads once it comes; resolves with the file's name. */
export async function savePolicy(session: Session, signal: AbortSignal): Promise<string> {
  const file = await fetchPolicy(session, signal);
  download(file.name, file);
  return file.name;
}

/** Sends a file to the kernel, which says what became of it. Throws an Error for one that is too large. */
export async function loadPolicy(session: Session, file: File): Promise<void> {
  if (file.size > MOST_BYTES) throw new Error(`${file.name} is larger than ${MOST_BYTES >> 20} MB. Load it from Python with widget.load(path).`);
  session.events.emit("notice", "");
  await sendPolicy(session, file);
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
    if (!session.kernel.connected) session.events.emit("notice", `Loading a policy needs a kernel. ${restartHint(session.model)}`);
    else loadPolicy(session, file).catch((error: Error) => session.events.emit("notice", error.message));
  };
  root.addEventListener("dragover", over, { signal });
  root.addEventListener("dragleave", leave, { signal });
  root.addEventListener("drop", drop, { signal });
}
