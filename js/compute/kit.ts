/** A WebGPU device as this room uses it: buffers, kernels with what is bound to them, and numbers read back. */

/** One launch: everything that it binds is chosen when it is made. */
export interface Step {
  readonly pipeline: GPUComputePipeline;
  readonly group: GPUBindGroup;
  readonly groups: readonly [number, number, number];
}

/** A number of a uniform: whole unless it is given as `{ f32 }`. */
type Setting = number | { f32: number };

export class Kit {
  private readonly made: GPUBuffer[] = [];
  private readonly pipelines = new Map<string, GPUComputePipeline>();

  constructor(readonly device: GPUDevice) {}

  /** Zeros, `count` words of four bytes. Throws an Error where the device has no buffer of that size. */
  zeros(count: number): GPUBuffer {
    const size = 4 * Math.max(4, count);
    const most = Math.min(this.device.limits.maxStorageBufferBindingSize, this.device.limits.maxBufferSize);
    if (size > most) throw new Error(`A buffer needs ${size} bytes and this device allows ${most}: take fewer games, or shorter rollouts.`);
    const { STORAGE, COPY_SRC, COPY_DST } = GPUBufferUsage;
    return this.keep(this.device.createBuffer({ size, usage: STORAGE | COPY_SRC | COPY_DST }));
  }

  filled(values: Float32Array | Uint32Array): GPUBuffer {
    const buffer = this.zeros(values.length);
    this.write(buffer, values);
    return buffer;
  }

  uniform(settings: readonly Setting[]): GPUBuffer {
    const size = 16 * Math.ceil(settings.length / 4);
    const buffer = this.keep(this.device.createBuffer({ size, usage: GPUBufferUsage.UNIFORM | GPUBufferUsage.COPY_DST }));
    this.set(buffer, settings);
    return buffer;
  }

  /** Gives a uniform other numbers. */
  set(buffer: GPUBuffer, settings: readonly Setting[]): void {
    const view = new DataView(new ArrayBuffer(buffer.size));
    settings.forEach((setting, k) => {
      if (typeof setting === "number") view.setUint32(4 * k, setting, true);
      else view.setFloat32(4 * k, setting.f32, true);
    });
    this.device.queue.writeBuffer(buffer, 0, view.buffer);
  }

  /** Writes from the word `at` on. */
  write(buffer: GPUBuffer, values: Float32Array | Uint32Array, at = 0): void {
    this.device.queue.writeBuffer(buffer, 4 * at, values.buffer as ArrayBuffer, values.byteOffset, values.byteLength);
  }

  /** The entry `name` of a shader of this room, launched on `groups` workgroups; `bound` by binding. */
  step(code: string, name: string, bound: Readonly<Record<number, GPUBuffer>>, groups: readonly number[]): Step {
    const key = `${name}\n${code}`;
    let pipeline = this.pipelines.get(key);
    if (!pipeline) {
      const module = this.device.createShaderModule({ code, label: name });
      pipeline = this.device.createComputePipeline({ layout: "auto", compute: { module, entryPoint: name }, label: name });
      this.pipelines.set(key, pipeline);
    }
    return this.bind(pipeline, pipeline.getBindGroupLayout(0), bound, groups);
  }

  bind(pipeline: GPUComputePipeline, layout: GPUBindGroupLayout, bound: Readonly<Record<number, GPUBuffer>>, groups: readonly number[]): Step {
    const entries = Object.entries(bound).map(([binding, buffer]) => ({ binding: Number(binding), resource: { buffer } }));
    const [x = 1, y = 1, z = 1] = groups;
    return { pipeline, group: this.device.createBindGroup({ layout, entries }), groups: [x, y, z] };
  }

  /** The words of buffers, one after the other, once all that was submitted is done. */
  async read(...buffers: GPUBuffer[]): Promise<Float32Array[]> {
    const usage = GPUBufferUsage.MAP_READ | GPUBufferUsage.COPY_DST;
    const encoder = this.device.createCommandEncoder();
    const copies = buffers.map((buffer) => {
      const copy = this.device.createBuffer({ size: buffer.size, usage });
      encoder.copyBufferToBuffer(buffer, 0, copy, 0, buffer.size);
      return copy;
    });
    this.device.queue.submit([encoder.finish()]);
    await Promise.all(copies.map((copy) => copy.mapAsync(GPUMapMode.READ)));
    const words = copies.map((copy) => new Float32Array(copy.getMappedRange().slice(0)));
    for (const copy of copies) copy.destroy();
    return words;
  }

  destroy(): void {
    for (const buffer of this.made) buffer.destroy();
  }

  private keep(buffer: GPUBuffer): GPUBuffer {
    this.made.push(buffer);
    return buffer;
  }
}

/** Puts launches into a pass; each sees what the ones before it wrote. */
export function record(pass: GPUComputePassEncoder, steps: readonly Step[]): void {
  for (const { pipeline, group, groups } of steps) {
    pass.setPipeline(pipeline);
    pass.setBindGroup(0, group);
    pass.dispatchWorkgroups(...groups);
  }
}

/** Workgroups of 64 threads for `count` of them. */
export function groupsOf(count: number): number[] {
  return [Math.ceil(count / 64)];
}
