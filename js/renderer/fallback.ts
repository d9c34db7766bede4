/**
 * Chooses the renderer and its thread: WebGPU in the worker, WebGPU on the page, Canvas2D. A canvas whose WebGPU context failed may not give
 * a 2d one, and a canvas handed to a worker never comes back, so the page asks first (PROBE -> CAPABILITIES, in the worker, and if
 * that has no device, on the page), chooses, and only then touches the canvas.
 */
import type { Capabilities, RendererKind, Thread } from "../contract/protocol";

export interface Choice {
  renderer: RendererKind;
  thread: Thread;
  reason: string; // a sentence on every step down, "" at the top
}

/** `worker` is null where no worker can be started; `page` may be null when the worker has a device. */
export function choose(worker: Capabilities | null, page: Capabilities | null): Choice {
  const drawsInWorker = worker?.offscreen;
  if (drawsInWorker && worker.device) return { renderer: "webgpu", thread: "worker", reason: "" };
  if (page?.device) return { renderer: "webgpu", thread: "page", reason: sentence(whyNotWorker(worker)) };
  const facts = page ?? worker;
  const thread = drawsInWorker ? "worker" : "page";
  const reasons = [facts ? whyNoGpu(facts) : "the features of this browser are unknown"];
  if (!drawsInWorker) reasons.push(whyNotWorker(worker));
  return { renderer: "canvas2d", thread, reason: sentence(reasons.join(", and ")) };
}

/** The last step, inside the chosen thread: `wanted` as chosen, or Canvas2D with one more reason when the device is not there after all. */
export function settle(wanted: RendererKind, reason: string, here: Capabilities): Pick<Choice, "renderer" | "reason"> {
  if (wanted === "canvas2d" || here.device) return { renderer: wanted, reason };
  return { renderer: "canvas2d", reason: [reason, sentence(whyNoGpu(here))].filter(Boolean).join(" ") };
}

function whyNoGpu(facts: Capabilities): string {
  if (!facts.secure) return "this page is not served over https, so WebGPU is not available";
  if (!facts.gpu) return "this browser has no WebGPU, or it is switched off";
  return `the browser found no usable graphics adapter${facts.error ? ` (${facts.error})` : ""}`;
}

function whyNotWorker(worker: Capabilities | null): string {
  if (!worker) return "this page cannot start workers";
  if (!worker.offscreen) return "this browser cannot draw from a worker";
  return "this browser has no WebGPU inside workers";
}

function sentence(text: string): string {
  return `${text.charAt(0).toUpperCase() + text.slice(1)}.`;
}
