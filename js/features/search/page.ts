/** The page's half of search: its link, its panel "16 futures", and how long a decision takes as an attribute of the page. */
import type { PageFeature } from "../plug";
import { SearchLink } from "./link";
import { panel } from "./panel";

const attributes: PageFeature["attributes"] = (session, set, signal) => {
  const follow = () => set("search-ms", session.link(SearchLink).futures?.ms.toFixed(2) ?? "");
  session.events.on("futures", follow, signal);
  follow();
};

export const search: PageFeature = { link: SearchLink, panels: { futures: panel }, attributes };
