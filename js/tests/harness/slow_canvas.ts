/** A canvas that shows nothing, and whose pixels take a processor's time: what waits for one has spent five milliseconds. */
const FRAME_MS = 5;

const nothing: unknown = new Proxy(() => undefined, { get: (_, name) => (name === Symbol.toPrimitive ? () => 0 : nothing), apply: () => nothing });

export class SlowCanvas {
  static spent = 0; // ms
  width = 1;
  height = 1;

  getContext(): unknown {
    const pixels = () => {
      SlowCanvas.spent += FRAME_MS;
    };
    return new Proxy({} as Record<string, unknown>, { get: (set, name) => (name === "getImageData" ? pixels : name in set ? set[name as string] : nothing) });
  }
}
