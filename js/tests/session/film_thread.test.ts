/** Films are made by a worker, however slow it is; by the page only where no worker starts. */
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { FilmOrder, FromWorker } from "../../contract/protocol";
import { makeFilm } from "../../session/host/film_thread";
import { importOnPage } from "../../session/host/worker_code";

const film = new Uint8Array([7]).buffer;
const onPage = { receive: vi.fn() };
vi.mock("../../session/host/worker_code", () => ({
  workerUrl: async () => "blob:film",
  importOnPage: vi.fn(async () => ({
    newHost: (post: (message: FromWorker) => void) => ({
      receive: (message: unknown) => {
        onPage.receive(message);
        post({ type: "FILMED", id: "film", share: 1, content: film });
      },
    }),
  })),
}));

class FilmWorker {
  static last: FilmWorker;
  ended = false;
  onmessage: ((event: { data: FromWorker }) => void) | null = null;
  constructor() {
    FilmWorker.last = this;
  }
  postMessage(): void {}
  terminate(): void {
    this.ended = true;
  }
  says(share: number, content: ArrayBuffer | null = null): void {
    this.onmessage?.({ data: { type: "FILMED", id: "film", share, content } });
  }
}

beforeEach(() => {
  vi.useFakeTimers();
  vi.stubGlobal("Worker", FilmWorker);
});
afterEach(() => {
  vi.clearAllMocks();
  vi.unstubAllGlobals();
  vi.useRealTimers();
});

describe("a film", () => {
  it("is left to a worker that has begun, for as long as the first picture takes", async () => {
    const shares: number[] = [];
    const made = makeFilm({} as FilmOrder, (share) => shares.push(share), new AbortController().signal);
    await vi.advanceTimersByTimeAsync(1000);
    FilmWorker.last.says(0);
    await vi.advanceTimersByTimeAsync(60_000);
    expect([FilmWorker.last.ended, onPage.receive.mock.calls.length]).toEqual([false, 0]);
    FilmWorker.last.says(0.5);
    FilmWorker.last.says(1, film);
    expect([...new Uint8Array(await (await made).arrayBuffer())]).toEqual([7]);
    expect([FilmWorker.last.ended, shares]).toEqual([true, [0, 0.5]]);
    expect(importOnPage).not.toHaveBeenCalled();
  });

  it("is made by the page where a worker does not begin", async () => {
    const made = makeFilm({} as FilmOrder, () => undefined, new AbortController().signal);
    await vi.advanceTimersByTimeAsync(6000);
    expect((await made).size).toBe(1);
    expect([FilmWorker.last.ended, onPage.receive.mock.calls.length]).toEqual([true, 1]);
  });

  it("ends with its match", async () => {
    const closing = new AbortController();
    const made = makeFilm({} as FilmOrder, () => undefined, closing.signal);
    const said = made.catch((error: Error) => error.message);
    await vi.advanceTimersByTimeAsync(1000);
    FilmWorker.last.says(0.5);
    closing.abort();
    expect([await said, FilmWorker.last.ended]).toEqual(["The film was not made: its match has been closed.", true]);
  });
});
