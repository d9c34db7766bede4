/** When the next update may begin: dshq_widget/learning/pace.py. Times in s. */
export class Pace {
  private began = Number.NEGATIVE_INFINITY; // the last update
  private steps = 0; // of it, agent steps

  constructor(
    public paused: boolean,
    private asked: number, // updates to make while paused
  ) {}

  /** Pauses after one more update. */
  nextUpdate(): void {
    this.paused = true;
    this.asked += 1;
  }

  /** No update until it is resumed or one is requested. */
  pause(): void {
    this.paused = true;
  }

  resume(): void {
    this.paused = false;
    this.asked = 0;
  }

  /** Seconds until the next update may begin; infinite while paused. `pace` in agent steps per second, 0 for full speed. */
  rest(now: number, pace: number): number {
    if (this.paused) return this.asked ? 0 : Number.POSITIVE_INFINITY;
    return pace > 0 ? Math.max(this.began + this.steps / pace - now, 0) : 0;
  }

  /** An update that began at `began` is done. */
  made(began: number, steps: number): void {
    this.began = began;
    this.steps = steps;
    this.asked = Math.max(this.asked - 1, 0);
  }
}
