/** Legend of the map over the pitch: the meaning and the range of its colours. That of values, or of a feature's map. */

import { sideName } from "../contract/sides";
import type { Legend } from "../features/plug";
import { h, setText } from "../ui/dom";
import { compact } from "../ui/format";
import type { View } from "./view";

export function buildMapLegend({ session, features, signal }: View): HTMLElement {
  const scale = h("span", { class: "scale", role: "img" });
  const [bad, good, middle] = [h("span", { class: "end" }), h("span", { class: "end" }), h("span", { class: "middle" })];
  const text = h("span", { class: "what" });
  const legend = h("div", { class: "map-legend" }, text, h("span", { class: "ramp" }, bad, h("span", { class: "colours" }, scale, middle), good));

  const values = (): Legend => {
    const { range } = session.thoughts.now;
    const number = range > 0 ? compact(Number(range.toPrecision(2))) : "";
    return {
      text: `Expected return for ${sideName(0)} if the ${session.model.get("drill")?.spec.drag[0]?.name ?? "ball"} were there`,
      scale: `Orange is bad for ${sideName(0)}, blue is good for ${sideName(0)}`,
      ends: [number && `−${number}`, number && `+${number}`],
      middle: "",
    };
  };
  const follow = () => {
    const theirs = features.map(({ legend }) => legend?.(session)).find(Boolean);
    legend.hidden = !theirs && !session.thoughts.map;
    const now = theirs ?? values();
    setText(bad, now.ends[0]);
    setText(good, now.ends[1]);
    setText(middle, now.middle);
    middle.hidden = !now.middle;
    scale.setAttribute("aria-label", now.scale);
    setText(text, now.text);
  };
  for (const name of ["mind", "drill", "map"] as const) session.events.on(name, follow, signal);
  follow();
  return legend;
}
