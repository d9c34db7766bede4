/** The functions of a run from a module of them alone: tests/harness/run_kernels.py. */
import { Kernels } from "../../trainer/games/kernels";
import { Memory } from "../../trainer/games/memory";
import { STACK_TOP } from "../../trainer/tables";

export function kernelsOf(base64: string): Kernels {
  const memory = new Memory();
  const stack = new WebAssembly.Global({ value: "i32", mutable: true }, STACK_TOP);
  const { cos, exp, log, pow } = Math;
  const env = { memory: memory.wasm, __stack_pointer: stack, cos, exp, log, pow };
  const module = new WebAssembly.Module(Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0)));
  return new Kernels(memory, new WebAssembly.Instance(module, { env }).exports);
}
