/** The page's half of the gate: its link, its panel, and the meaning of its map's colours. */
import type { PanelSession } from "../../panels/panel";
import { fixed } from "../../ui/format";
import type { Legend, PageFeature } from "../plug";
import { GateLink } from "./link";
import { EXPECTED_RANGE } from "./messages";
import { panel } from "./panel";

function legend(session: PanelSession): Legend | null {
  const link = session.link(GateLink);
  if (!link.on || !link.map) return null;
  const threshold = link.value("threshold");
  return {
    text: `Expected reward of ${link.map === "energy" ? "an energy" : "a combat"} parasite in each chunk; the line is the threshold`,
    scale: `Blue is above the threshold ${fixed(threshold)}, orange is below it`,
    ends: [fixed(threshold - EXPECTED_RANGE), fixed(threshold + EXPECTED_RANGE)],
    middle: fixed(threshold),
  };
}

export const gate: PageFeature = { link: GateLink, panels: { gate: panel }, legend };
