/**
 * The memory of a network, an LSTM layer as dshq_kernels/network/layers.py defines it: reads what the last hidden layer gives and what it
 * gave before itself. Its state is [h, c], all 0 when an episode begins.
 */
export class Memory {
  readonly floats: number; // of its weights and biases
  readonly given: Float32Array; // [units], h' of the last forward()
  readonly next: Float32Array; // [2 units], the state after the last forward()
  private readonly gates: Float32Array; // [4 units]: i, f, g, o of the last forward(), squashed
  private before = new Float32Array(0); // c at the last forward()

  constructor(
    private readonly inputs: number,
    readonly units: number,
  ) {
    this.floats = (inputs + units + 1) * 4 * units;
    this.next = new Float32Array(2 * units);
    this.given = this.next.subarray(0, units);
    this.gates = new Float32Array(4 * units);
  }

  /** One decision from `state` [2 units], with weights from `at` on. */
  forward(weights: Float32Array, at: number, input: Float32Array, state: Float32Array): void {
    const { units, inputs, gates } = this;
    const columns = 4 * units;
    this.before = state.slice(units);
    for (let j = 0; j < columns; j++) {
      let sum = weights[at + (inputs + units) * columns + j]!;
      for (let i = 0; i < inputs; i++) sum += input[i]! * weights[at + i * columns + j]!;
      for (let i = 0; i < units; i++) sum += state[i]! * weights[at + (inputs + i) * columns + j]!;
      gates[j] = j >= 2 * units && j < 3 * units ? Math.tanh(sum) : sigmoid(sum);
    }
    for (let k = 0; k < units; k++) {
      const c = gates[units + k]! * this.before[k]! + gates[k]! * gates[2 * units + k]!;
      this.next[units + k] = c;
      this.next[k] = gates[3 * units + k]! * Math.tanh(c);
    }
  }

  /** The slopes of the input, from those of h' at the last forward(); the state before it is taken as given. */
  gradient(weights: Float32Array, at: number, slope: Float32Array): Float32Array<ArrayBuffer> {
    const { units, inputs, gates } = this;
    const columns = 4 * units;
    const slopes = new Float32Array(columns); // of what is squashed
    for (let k = 0; k < units; k++) {
      const [i, f, g, o] = [gates[k]!, gates[units + k]!, gates[2 * units + k]!, gates[3 * units + k]!];
      const top = Math.tanh(this.next[units + k]!);
      const inner = slope[k]! * o * (1 - top * top);
      slopes[k] = inner * g * i * (1 - i);
      slopes[units + k] = inner * this.before[k]! * f * (1 - f);
      slopes[2 * units + k] = inner * i * (1 - g * g);
      slopes[3 * units + k] = slope[k]! * top * o * (1 - o);
    }
    const out = new Float32Array(inputs);
    for (let i = 0; i < inputs; i++) for (let j = 0; j < columns; j++) out[i]! += weights[at + i * columns + j]! * slopes[j]!;
    return out;
  }
}

function sigmoid(x: number): number {
  return 1 / (1 + Math.exp(-x));
}
