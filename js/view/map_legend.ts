/** Legend of the map over the pitch: the meaning and the range of its colours. Values, or what the gate expects of spawns. */

import { EXPECTED_RANGE } from "../contract/protocol";
import { sideName } from "../contract/sides";
import { h, setText } from "../ui/dom";
import { compact, fixed } from "../ui/format";
import type { View } from "./view";

interface Legend {
  text: string;
  scale: string; // what the colours mean
  ends: [bad: string, good: string];
  middle: string; // what stands at the line between the colours
}

export function buildMapLegend({ session, signal }: View): HTMLElement {
  const scale = h("span", { class: "scale", role: "img" });
  const [bad, good, middle] = [h("span", { class: "end" }), h("span", { class: "end" }), h("span", { class: "middle" })];
  const text = h("span", { class: "what" });
  const legend = h("div", { class: "map-legend" }, text, h("span", { class: "ramp" }, bad, h("span", { class: "colours" }, scale, middle), good));

  const values = (): Legend => {
    const { range } = session.mind;
    const number = range > 0 ? compact(Number(range.toPrecision(2))) : "";
    return {
      text: `Expected return for ${sideName(0)} if the ${session.model.get("drill")?.spec.drag[0]?.name ?? "ball"} were there`,
      scale: `Orange is bad for ${sideName(0)}, blue is good for ${sideName(0)}`,
      ends: [number && `−${number}`, number && `+${number}`],
      middle: "",
    };
  };
  const rewards = (): Legend => {
    const threshold = session.gate.value("threshold");
    return {
      text: `Expected reward of ${session.gate.map === "energy" ? "an energy" : "a combat"} parasite in each chunk; the line is the threshold`,
      scale: `Blue is above the threshold ${fixed(threshold)}, orange is below it`,
      ends: [fixed(threshold - EXPECTED_RANGE), fixed(threshold + EXPECTED_RANGE)],
      middle: fixed(threshold),
    };
  };
  const follow = () => {
    const gated = session.gate.on && session.gate.map !== "";
    legend.hidden = !gated && !session.map;
    const now = gated ? rewards() : values();
    setText(bad, now.ends[0]);
    setText(good, now.ends[1]);
    setText(middle, now.middle);
    middle.hidden = !now.middle;
    scale.setAttribute("aria-label", now.scale);
    setText(text, now.text);
  };
  for (const name of ["mind", "drill", "gate"] as const) session.events.on(name, follow, signal);
  follow();
  return legend;
}
