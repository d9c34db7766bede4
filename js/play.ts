/** The page of `dshq play`: the widget's module over a websocket of dshq_widget/widget/play_server.py. */

import { SocketModel } from "./session/kernel/socket_model";
import { h } from "./ui/dom";

type Page = typeof import("./widget");

/** A file beside this page, under the token that this page was asked for with. */
function beside(name: string): URL {
  return new URL(name + location.search, location.href);
}

async function play(el: HTMLElement): Promise<void> {
  const { default: widget } = (await import(beside("widget.js").href)) as Page;
  const page = await widget();
  const ends: (() => void)[] = [];
  const socket = beside("socket");
  socket.protocol = socket.protocol.replace("http", "ws");
  const opened = () => ends.push(page.initialize({ model }), page.render({ model, el }));
  const ended = () => {
    for (const end of ends.reverse()) end();
    el.append(h("p", {}, "Python has closed this widget."));
  };
  const model = new SocketModel(socket.href, opened, ended);
}

void play(document.getElementById("dshq")!);
