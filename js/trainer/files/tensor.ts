/** A tensor as a policy file has it: a flat array in row-major order, and its shape. */
export type Tensor =
  | { dtype: "F32"; shape: number[]; data: Float32Array }
  | { dtype: "F64"; shape: number[]; data: Float64Array }
  | { dtype: "I32"; shape: number[]; data: Int32Array }
  | { dtype: "I64"; shape: number[]; data: BigInt64Array }
  | { dtype: "U8"; shape: number[]; data: Uint8Array }
  | { dtype: "U32"; shape: number[]; data: Uint32Array }
  | { dtype: "U64"; shape: number[]; data: BigUint64Array };
