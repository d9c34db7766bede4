/** What the browser has once a page has kept a run: for tools/released.py, which puts it among the files of a release. */
import { RunKeeper } from "../run_keeper";
import { Place } from "../storage";

interface Order {
  rules: string;
  drill: string;
  version: number;
  file: string; // base64
}

/** The key, and what lies under it, with the bytes of the file in base64. */
export default function keptRecord({ rules, drill, version, file }: Order): Promise<{ key: string; run: object }> {
  return new Promise((resolve) => {
    const put = (run: { file: Uint8Array }, key: string) => {
      resolve({ key, run: { ...run, file: Buffer.from(run.file).toString("base64") } });
      return { result: key };
    };
    const database = { close: () => {}, transaction: () => ({ objectStore: () => ({ put }) }) };
    const opening = { result: database, onsuccess: () => {} };
    const open = () => {
      queueMicrotask(() => opening.onsuccess());
      return opening;
    };
    Object.assign(globalThis, { indexedDB: { open }, location: { pathname: "/" } });
    new RunKeeper({ name: drill, rules_hash: rules }, new Place()).keep({ file: new Uint8Array(Buffer.from(file, "base64")), version });
  });
}
