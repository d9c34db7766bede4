/**
 * Entry point of the widget, which anywidget loads for every model: unpacks the page (js/page.ts) and its style sheet, which travel
 * inside this module as gzip in base64, and imports the page from a Blob URL. All widgets of one page that come from the same build share one copy of it.
 *
 * A host whose Content-Security-Policy refuses modules from blobs does not get here: anywidget itself imports this file from one.
 */
import source from "page-source";
import type widget from "./page";
import { unpack } from "./session/host/unpack";

type Page = { widget: typeof widget; styles: string };

const KEY = Symbol.for(`dshq-widget.page.${source.hash}`);

async function load(): Promise<Page> {
  const [code, styles] = await Promise.all([unpack(source.packed), unpack(source.styles)]);
  const url = URL.createObjectURL(new Blob([code], { type: "text/javascript" }));
  try {
    return { widget: (await import(/* @vite-ignore */ url)).default, styles };
  } finally {
    URL.revokeObjectURL(url);
  }
}

/** What anywidget asks for: `initialize` and `render` of one model. Each view has the style sheet beside it: it may stand in a shadow root. */
export default async function factory(): Promise<ReturnType<typeof widget>> {
  const shared = globalThis as { [KEY]?: Promise<Page> };
  shared[KEY] ??= load();
  const { widget, styles } = await shared[KEY];
  const { initialize, render } = widget();
  const styled: typeof render = (view) => {
    const sheet = document.createElement("style");
    sheet.textContent = styles;
    view.el.append(sheet);
    const end = render(view);
    return () => {
      end();
      sheet.remove();
    };
  };
  return { initialize, render: styled };
}
