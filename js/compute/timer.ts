/** How long a pass took on the GPU, from timestamp queries, where the device has them. */
export class Timer {
  private readonly queries: GPUQuerySet | null;
  private readonly ends: GPUBuffer | null = null;

  constructor(private readonly device: GPUDevice) {
    this.queries = device.features.has("timestamp-query") ? device.createQuerySet({ type: "timestamp", count: 2 }) : null;
    if (this.queries) this.ends = device.createBuffer({ size: 16, usage: GPUBufferUsage.QUERY_RESOLVE | GPUBufferUsage.COPY_SRC });
  }

  /** What a pass to be measured is begun with. */
  get pass(): GPUComputePassDescriptor {
    return this.queries ? { timestampWrites: { querySet: this.queries, beginningOfPassWriteIndex: 0, endOfPassWriteIndex: 1 } } : {};
  }

  /** After the pass: a promise of its milliseconds to ask for once the commands are submitted; null where nothing measures. */
  resolve(encoder: GPUCommandEncoder): () => Promise<number | null> {
    if (!this.queries || !this.ends) return async () => null;
    const copy = this.device.createBuffer({ size: 16, usage: GPUBufferUsage.MAP_READ | GPUBufferUsage.COPY_DST });
    encoder.resolveQuerySet(this.queries, 0, 2, this.ends, 0);
    encoder.copyBufferToBuffer(this.ends, 0, copy, 0, 16);
    return async () => {
      await copy.mapAsync(GPUMapMode.READ);
      const [begin, end] = new BigInt64Array(copy.getMappedRange().slice(0)) as unknown as [bigint, bigint];
      copy.destroy();
      return Number(end - begin) / 1e6;
    };
  }

  destroy(): void {
    this.queries?.destroy();
    this.ends?.destroy();
  }
}
