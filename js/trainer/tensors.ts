/** Short ways to make the tensors of a policy file. */
import type { Tensor } from "./tensor";

export type Tensors = Record<string, Tensor>;

/** A tensor of this type; one row where no shape is given. */
export function tensor<D extends Tensor["dtype"]>(dtype: D, data: Extract<Tensor, { dtype: D }>["data"], shape: number[] = [data.length]): Tensor {
  return { dtype, shape, data } as unknown as Tensor;
}

/** A single number. */
export function number(dtype: "I64" | "F64", value: number): Tensor {
  return dtype === "I64" ? { dtype, shape: [], data: BigInt64Array.of(BigInt(value)) } : { dtype, shape: [], data: Float64Array.of(value) };
}
