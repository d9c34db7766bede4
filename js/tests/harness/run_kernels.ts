/** The functions of a run from a module of them alone: tests/harness/run_kernels.py. */

import { Heap } from "../../trainer/games/heap";
import { Kernels } from "../../trainer/games/kernels";
import { STACK_TOP } from "../../trainer/tables";

export function kernelsOf(base64: string): Kernels {
  const heap = new Heap();
  const stack = new WebAssembly.Global({ value: "i32", mutable: true }, STACK_TOP);
  const { cos, exp, log, pow } = Math;
  const env = { memory: heap.wasm, __stack_pointer: stack, cos, exp, log, pow };
  const module = new WebAssembly.Module(Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0)));
  return new Kernels(heap, new WebAssembly.Instance(module, { env }).exports);
}
