/** The code of the show worker, which the bundler puts into this module (js/build.mjs). */
import packed from "worker-source";
import { unpack } from "./unpack";

/** A fresh URL of it, for a Worker or an import. */
export async function workerUrl(): Promise<string> {
  return URL.createObjectURL(new Blob([await unpack(packed)], { type: "text/javascript" }));
}
