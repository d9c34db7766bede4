/** The page's heading: the game's name, one line on what it is, and what its colours show where that is not plain to see. */
import { PAINTS } from "../contract/tables";
import { h, setText } from "../ui/dom";
import type { View } from "./view";

export function buildGameHeading({ session, signal, themed }: View, theme: () => "light" | "dark"): HTMLElement {
  const title = h("h2", { class: "game-title" });
  const about = h("p", { class: "game-about" });
  const legend = h("ul", { class: "game-legend", "aria-label": "Legend" });
  const element = h("header", { class: "game" }, title, about, legend);
  const follow = () => {
    const spec = session.model.get("drill")?.spec;
    setText(title, spec?.title ?? "");
    setText(about, spec?.about ?? "");
    const paints = Object.entries(spec?.legend ?? {});
    legend.hidden = paints.length === 0;
    legend.replaceChildren(
      ...paints.map(([paint, text]) => h("li", {}, h("span", { class: "swatch", style: `background: ${colourOf(paint, theme())}` }), text)),
    );
    element.hidden = !spec;
  };
  session.events.on("drill", follow, signal);
  themed(follow);
  follow();
  return element;
}

function colourOf(paint: string, theme: "light" | "dark"): string {
  return (PAINTS as Record<string, Record<"light" | "dark", string>>)[paint]?.[theme] ?? "currentColor";
}
