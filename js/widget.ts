/**
 * Entry point of the widget, which anywidget loads for every model: unpacks the page (js/page.ts), which travels inside this module
 * as gzip in base64, and imports it from a Blob URL. All widgets of one page that come from the same build share one copy of it.
 *
 * A host whose Content-Security-Policy refuses modules from blobs does not get here: anywidget itself imports this file from one.
 */
import source from "page-source";
import type widget from "./page";
import { unpack } from "./session/unpack";

type Page = { default: typeof widget };

const KEY = Symbol.for(`dshq-widget.page.${source.hash}`);

async function load(): Promise<Page> {
  const url = URL.createObjectURL(new Blob([await unpack(source.packed)], { type: "text/javascript" }));
  try {
    return await import(/* @vite-ignore */ url);
  } finally {
    URL.revokeObjectURL(url);
  }
}

/** What anywidget asks for: `initialize` and `render` of one model. */
export default async function factory(): Promise<ReturnType<typeof widget>> {
  const shared = globalThis as { [KEY]?: Promise<Page> };
  shared[KEY] ??= load();
  return (await shared[KEY]).default();
}
