/** Typed events whose handlers leave with an AbortSignal, so that a removed view forgets nothing. */
export class Events<Names extends object> {
  private readonly handlers = new Map<keyof Names, Set<(value: never) => void>>();

  on<K extends keyof Names>(name: K, handler: (value: Names[K]) => void, signal?: AbortSignal): void {
    if (signal?.aborted) return;
    const set = this.handlers.get(name) ?? new Set();
    this.handlers.set(name, set.add(handler as (value: never) => void));
    signal?.addEventListener("abort", () => set.delete(handler as (value: never) => void), { once: true });
  }

  emit<K extends keyof Names>(name: K, value: Names[K]): void {
    for (const handler of [...(this.handlers.get(name) ?? [])]) (handler as (value: Names[K]) => void)(value);
  }
}
