// A host of the learner's WebAssembly module and a drill's: loads an image of memory, calls functions with addresses of records (verbs of the drill
// with a tile and a second number), writes the memory back. stdin: {learner, drill: files of modules, memory: file, calls: [[function, times, ...numbers]],
// entries: functions of the learner that plans call, stack_top}; stdout: milliseconds of each call.
const fs = require("node:fs");

const { learner, drill, memory: file, calls, entries, stack_top } = JSON.parse(fs.readFileSync(0, "utf8"));
const image = fs.readFileSync(file);
const memory = new WebAssembly.Memory({ initial: Math.ceil(image.length / 65536) });
const table = new WebAssembly.Table({ element: "anyfunc", initial: 1 });
const stack = new WebAssembly.Global({ value: "i32", mutable: true }, stack_top);
const { cos, exp, log, pow } = Math;
const env = { memory, __stack_pointer: stack, __indirect_function_table: table, cos, exp, log, pow };
const load = (path) => new WebAssembly.Instance(new WebAssembly.Module(fs.readFileSync(path)), { env }).exports;
const [verbs, learned] = [load(drill), load(learner)];
for (const name of entries) table.set(table.grow(1), learned[name]); // from 1 on
for (const verb of Object.values(verbs)) table.set(table.grow(1), verb); // behind them, in the order of `CpuGame.verbs`
const functions = { ...verbs, ...learned };
new Uint8Array(memory.buffer).set(image.subarray(stack_top), stack_top);
const times = [];
for (const [name, count, ...numbers] of calls) {
  const call = functions[name];
  const words = numbers.map(BigInt);
  const begin = performance.now();
  for (let k = 0; k < count; k++) call(...words);
  times.push(performance.now() - begin);
}
fs.writeFileSync(file, new Uint8Array(memory.buffer, 0, image.length));
console.log(JSON.stringify(times));
