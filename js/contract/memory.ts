/** Units of a network's memory, which stands in `layers` as a negative number before the outputs (dshq_kernels/network/layers.py); 0: none. */
export function memoryOf(layers: readonly number[]): number {
  const [width, units] = [layers.at(-3) ?? 0, -(layers.at(-2) ?? 0)];
  return layers.length > 3 && width > 0 && units > 0 ? units : 0;
}
