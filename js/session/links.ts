/** The links that features brought to one session, asked as one: the first that has an answer gives it. */
import type { Bytes, ConfigValue, FromWorker, KernelToPage } from "../contract/protocol";
import type { Link, LinkKind, StandIn } from "./link";

export class Links {
  private readonly byKind = new Map<LinkKind, Link>();

  add(kind: LinkKind, link: Link): void {
    this.byKind.set(kind, link);
  }

  /** Throws an Error where no feature brought one of this kind. */
  of<L extends Link>(kind: LinkKind<L>): L {
    const link = this.byKind.get(kind);
    if (!link) throw new Error(`This session has no ${kind.name}: add its feature to js/features/page.ts.`);
    return link as L;
  }

  get claims(): boolean {
    return this.all.some(({ claims }) => claims);
  }

  get elsewhere(): boolean {
    return this.all.some(({ elsewhere }) => elsewhere);
  }

  get standIn(): StandIn | null {
    return this.all.map(({ standIn }) => standIn).find(Boolean) ?? null;
  }

  begin(): void {
    for (const link of this.all) link.begin?.();
  }

  again(): void {
    for (const link of this.all) link.again?.();
  }

  receive(message: FromWorker): boolean {
    return this.all.some((link) => link.receive?.(message));
  }

  receiveFromKernel(message: KernelToPage, bytes: Bytes | undefined): boolean {
    return this.all.some((link) => link.receiveFromKernel?.(message, bytes));
  }

  takes(key: string, value: ConfigValue): boolean {
    return this.all.some((link) => link.takes?.(key, value));
  }

  private get all(): Link[] {
    return [...this.byKind.values()];
  }
}
