/** Legend of the value map: the meaning and the range of its colours. */

import { sideName } from "../contract/sides";
import { h, setText } from "../ui/dom";
import { compact } from "../ui/format";
import type { View } from "./view";

export function buildMapLegend({ session, signal }: View): HTMLElement {
  const scale = h("span", { class: "scale", role: "img" });
  const [bad, good] = [h("span", { class: "end" }), h("span", { class: "end" })];
  const text = h("span", { class: "what" });
  const legend = h("div", { class: "map-legend" }, text, h("span", { class: "ramp" }, bad, scale, good));

  const follow = () => {
    const { range } = session.mind;
    legend.hidden = !session.map;
    const spec = session.model.get("drill")?.spec;
    const number = range > 0 ? compact(Number(range.toPrecision(2))) : "";
    setText(bad, number && `−${number}`);
    setText(good, number && `+${number}`);
    scale.setAttribute("aria-label", `Orange is bad for ${sideName(0)}, blue is good for ${sideName(0)}`);
    setText(text, `Expected return for ${sideName(0)} if the ${spec?.drag[0]?.name ?? "ball"} were there`);
  };
  session.events.on("mind", follow, signal);
  session.events.on("drill", follow, signal);
  follow();
  return legend;
}
