/** How surprised the world model was of late: the divergence of what a frame said from what was expected, in nats. */

import type { PanelView } from "../../../panels/panel";
import { h, setAttribute, setText, svg } from "../../../ui/dom";
import { fixed } from "../../../ui/format";
import { DreamLink } from "../link";

const [WIDTH, HEIGHT, EDGE] = [240, 72, 3];
const LEAST = 1; // nats at the top of the scale: below that the model learns nothing from a surprise

export function buildSurprise({ session, signal }: PanelView): HTMLElement {
  const curve = svg("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img", preserveAspectRatio: "none" });
  const line = svg("polyline", {});
  curve.append(svg("path", { d: `M0 ${HEIGHT - EDGE}H${WIDTH}` }), line);
  const [last, top] = [h("span", { class: "number" }), h("span", { class: "top" })];
  const around = h("div", { class: "curve" }, top);
  around.prepend(curve);

  const follow = () => {
    const { surprises } = session.link(DreamLink);
    const most = Math.max(LEAST, ...surprises);
    const step = WIDTH / Math.max(surprises.length - 1, 1);
    const height = (nats: number) => HEIGHT - EDGE - (nats / most) * (HEIGHT - 2 * EDGE);
    line.setAttribute("points", surprises.map((nats, k) => `${(k * step).toFixed(1)},${height(nats).toFixed(1)}`).join(" "));
    const now = surprises.length > 0 ? `${fixed(surprises.at(-1)!, 2)} nats` : "–";
    setText(last, now);
    setText(top, surprises.length > 0 ? fixed(most, 1) : "");
    setAttribute(curve, "aria-label", `Surprise at the last ${surprises.length} decisions, now ${now}`);
  };
  session.events.on("dream", follow, signal);
  follow();
  const title = "How far a frame moves the world model's prediction (KL divergence)";
  return h("figure", { class: "surprise", title }, h("figcaption", {}, "Surprise ", last), around);
}
