/** `f32x4.relaxed_madd` in a function of its own: valid only where the browser has relaxed SIMD. */
const RELAXED_PROBE = new Uint8Array([
  ...[0, 97, 115, 109, 1, 0, 0, 0], // magic number, version
  ...[1, 8, 1, 96, 3, 123, 123, 123, 1, 123], // one type: three v128 to one
  ...[3, 2, 1, 0], // one function of it
  ...[10, 13, 1, 11, 0, 32, 0, 32, 1, 32, 2, 253, 133, 2, 11], // local.get 0, 1, 2, f32x4.relaxed_madd
]);

/** Whether this browser runs modules with relaxed SIMD: a multiply-add in one step. */
export function hasRelaxedSimd(): boolean {
  return WebAssembly.validate(RELAXED_PROBE);
}
