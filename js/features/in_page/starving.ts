/** Whether the kernel's learner starves, by its reports. */

const STARVED = 0.25; // processors, with which a page is likely the faster one
const ENOUGH = 0.5; // and with which the learner no longer starves
const ROWS = 5; // reports in a row, before it is said, and before it is taken back: what it moves on the page stays under the pointer

export class Starving {
  now = false;
  private rows = 0; // in a row that say otherwise

  /** A report of a learner that trains, with the processors it had; returns whether `now` changed. */
  report(processors: number | undefined): boolean {
    const otherwise = this.now ? processors === undefined || processors >= ENOUGH : processors !== undefined && processors < STARVED;
    this.rows = otherwise ? this.rows + 1 : 0;
    if (this.rows < ROWS) return false;
    this.rows = 0;
    this.now = !this.now;
    return true;
  }

  /** Nothing trains; returns whether `now` changed. */
  end(): boolean {
    const before = this.now;
    this.now = false;
    this.rows = 0;
    return before;
  }
}
