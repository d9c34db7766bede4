/** The effective sample size over the decisions ahead: how many futures still count. */

import type { PanelView } from "../../../panels/panel";
import { h, setAttribute, setText, svg } from "../../../ui/dom";
import { fixed } from "../../../ui/format";
import { SearchLink } from "../link";

const [WIDTH, HEIGHT, EDGE] = [160, 56, 4];

export function buildSizes({ session, signal }: PanelView): HTMLElement {
  const curve = svg("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img" });
  const [line, dots] = [svg("polyline", {}), svg("g", {})];
  curve.append(svg("path", { d: `M0 ${EDGE}H${WIDTH}M0 ${HEIGHT - EDGE}H${WIDTH}` }), line, dots);
  const most = h("span", {});
  const last = h("span", {});

  const follow = () => {
    const { futures, particles } = session.link(SearchLink);
    if (!futures) return;
    const sizes = [particles, ...futures.sizes]; // at the root all count the same
    const places = sizes.map((size, k) => [EDGE + (k * (WIDTH - 2 * EDGE)) / (sizes.length - 1), HEIGHT - EDGE - (size / particles) * (HEIGHT - 2 * EDGE)]);
    line.setAttribute("points", places.map((place) => place.map((at) => at.toFixed(1)).join()).join(" "));
    dots.replaceChildren(...places.map(([cx, cy]) => svg("circle", { cx: cx!, cy: cy!, r: 2.5 })));
    const text = sizes.slice(1).map((size) => fixed(size, 1));
    setAttribute(curve, "aria-label", `Effective sample size after each decision: ${text.join(", ")}`);
    setText(most, `of ${particles}`);
    setText(last, text.at(-1)!);
  };
  session.events.on("futures", follow, signal);
  follow();
  const title = "Effective sample size: how many futures share the weight, after each decision ahead";
  return h(
    "div",
    { class: "sizes", title },
    h("span", { class: "caption" }, "Futures that count"),
    h("span", { class: "count" }, last, " ", most),
    h("div", {}, curve),
  );
}
