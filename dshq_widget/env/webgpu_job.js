/**
 * A page's side of webgpu.py: runs the launches of a job and answers {adapter, results}, buffers as base64. Throws an
 * Error with a sentence where there is no WebGPU or the shader is refused.
 */
async function runJob({ source, games, ticks, group, buffers, passes, results }) {
  const adapter = await navigator.gpu?.requestAdapter();
  if (!adapter) throw new Error("this Chromium gives no WebGPU adapter");
  const { maxBufferSize, maxStorageBufferBindingSize } = adapter.limits;
  const device = await adapter.requestDevice({ requiredLimits: { maxBufferSize, maxStorageBufferBindingSize } });
  device.pushErrorScope("validation");
  const usage = GPUBufferUsage.STORAGE | GPUBufferUsage.COPY_SRC | GPUBufferUsage.COPY_DST;
  const filled = (bytes, use) => {
    const buffer = device.createBuffer({ size: bytes.byteLength, usage: use, mappedAtCreation: true });
    new Uint8Array(buffer.getMappedRange()).set(bytes);
    buffer.unmap();
    return buffer;
  };
  const size = filled(new Uint8Array(new Uint32Array([games, ticks, 0, 0]).buffer), GPUBufferUsage.UNIFORM);
  const held = {};
  for (const [name, text] of Object.entries(buffers)) {
    held[name] = filled(Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0)), usage);
  }
  const kinds = ["uniform", "storage", "storage", "storage"];
  const entries = kinds.map((type, binding) => ({ binding, visibility: GPUShaderStage.COMPUTE, buffer: { type } }));
  const groupLayout = device.createBindGroupLayout({ entries });
  const layout = device.createPipelineLayout({ bindGroupLayouts: [groupLayout] });
  const module = device.createShaderModule({ code: source });
  const { messages } = await module.getCompilationInfo();
  const wrong = messages.find(({ type }) => type === "error");
  if (wrong) throw new Error(`line ${wrong.lineNum} of the shader: ${wrong.message}`);
  const encoder = device.createCommandEncoder();
  for (const [entryPoint, ...names] of passes) {
    const bound = [size, ...names.map((name) => held[name])];
    const bindGroup = device.createBindGroup({
      layout: groupLayout,
      entries: bound.map((buffer, binding) => ({ binding, resource: { buffer } })),
    });
    const launch = encoder.beginComputePass();
    launch.setPipeline(await device.createComputePipelineAsync({ layout, compute: { module, entryPoint } }));
    launch.setBindGroup(0, bindGroup);
    launch.dispatchWorkgroups(Math.ceil(games / group));
    launch.end();
  }
  const copies = results.map((name) => {
    const copy = device.createBuffer({ size: held[name].size, usage: GPUBufferUsage.MAP_READ | GPUBufferUsage.COPY_DST });
    encoder.copyBufferToBuffer(held[name], 0, copy, 0, copy.size);
    return copy;
  });
  device.queue.submit([encoder.finish()]);
  const refused = await device.popErrorScope();
  if (refused) throw new Error(refused.message);
  const answer = {};
  for (const [k, copy] of copies.entries()) {
    await copy.mapAsync(GPUMapMode.READ);
    const reader = new FileReader();
    const read = new Promise((done) => {
      reader.onload = () => done(reader.result.split(",")[1]);
    });
    reader.readAsDataURL(new Blob([copy.getMappedRange()]));
    answer[results[k]] = await read;
  }
  const { vendor, architecture, device: name, description } = adapter.info;
  return { adapter: [vendor, architecture, name, description].filter(Boolean).join(" ") || "an adapter without a name", results: answer };
}
