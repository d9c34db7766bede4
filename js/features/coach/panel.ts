/**
 * The coach panel: drag the ball and the players while the match is paused, and let a share of the practice games start from that
 * scene. Shows how often blue wins from each scene, before practice and now.
 */

import { ownOpponent } from "../../contract/opponents";
import type { DrillSpec, SceneRow } from "../../contract/protocol";
import { sideName } from "../../contract/sides";
import type { Panel, PanelView } from "../../panels/panel";
import { button, control, focused, h, setText } from "../../ui/dom";
import { percent } from "../../ui/format";
import { fillRows } from "../../ui/rows";

export const panel: Panel = {
  applies: ({ elsewhere, pictures, model }) => !elsewhere && !pictures && (model.get("drill")?.spec.drag.length ?? 0) > 0,
  parts: { chips: buildChip, tab: build },
};

const MOST = 8; // scenes, as dshq_widget/learning/scenes/arranged.py takes them
const STEP = 0.05; // of the share

/** There once the match is paused: keeps its position as a scene, and shows the scenes. */
function buildChip({ session, open, signal }: PanelView): HTMLElement {
  let asked = false;
  const chip = button("drill-this", { class: "chip", title: "Drill this: practise from the current position" }, () => {
    asked = true;
    open("coach");
    session.post({ type: "CAPTURE", id: session.id });
  });
  const follow = () => {
    chip.hidden = session.state.playing || !session.kernel.connected || (session.model.get("scenes") ?? []).length >= MOST;
  };
  session.events.on(
    "scene",
    ({ state, over }) => {
      if (!asked) return;
      asked = false;
      if (over) session.events.emit("notice", "This game has just ended. Press Play until the next game starts, then pause and try again.");
      else session.kernel.send({ type: "DRILL_SCENE", state, rules_hash: session.model.get("drill")?.spec.rules_hash ?? "" });
    },
    signal,
  );
  for (const name of ["state", "scenes", "status"] as const) session.events.on(name, follow, signal);
  follow();
  return chip;
}

function build({ session, signal }: PanelView): HTMLElement {
  const help = h("p", { class: "help" });
  const share = h("input", {
    type: "range",
    min: 0,
    max: 0.9,
    step: STEP,
    ...control("scene-share"),
    title: "Share of practice games that start from one of the scenes. Takes effect at the next update.",
  });
  const shareOutput = h("output", { class: "number" });
  const list = h("ol", { class: "scenes", "aria-label": "Scenes" });
  const shares = h("label", { class: "shares" }, h("span", { class: "caption" }, "Share of practice games"), share, shareOutput);
  const element = h("section", { class: "coach body", "aria-label": "Coach" }, help, shares, list);

  const spec = () => session.model.get("drill")?.spec;
  const scenes = () => session.model.get("scenes") ?? [];
  const followShare = () => {
    const now = Number(session.drafts.values.scene_share ?? session.model.get("config")?.values.scene_share ?? 0);
    if (!focused(share)) share.value = String(now);
    setText(shareOutput, percent(now));
  };
  const rebuild = () => {
    const now = spec();
    if (!now) return;
    const things = now.drag.map(({ name }) => name.replace(/^player (\d)$/, (_, side: string) => sideName(Number(side)))).join(", ");
    setText(
      help,
      scenes().length >= MOST
        ? `At most ${MOST} scenes can be practised. Remove one first.`
        : `Pause the match and drag the pieces (${things}) into position. Then press Drill this, on the pitch. A share of the practice games will start from that position.`,
    );
    const rows = scenes();
    shares.hidden = rows.length === 0;
    const remove = (key: string) => session.kernel.send({ type: "DROP_SCENE", key });
    fillRows(
      list,
      rows.map((row, index) => ({ key: row.key, element: sceneItem(now, row, index + 1, () => remove(row.key)) })),
    );
    followKernel();
  };
  const followKernel = () => {
    for (const remove of list.querySelectorAll("button")) remove.disabled = !session.kernel.connected;
  };

  share.addEventListener("input", () => session.drafts.set("scene_share", Number(share.value)));
  session.events.on("drill", rebuild, signal);
  session.events.on("scenes", rebuild, signal);
  session.events.on("status", followKernel, signal);
  session.events.on("config", followShare, signal);
  rebuild();
  followShare();
  return element;
}

function sceneItem(spec: DrillSpec, row: SceneRow, number: number, remove: () => void): HTMLElement {
  const who = spec.sides === 2 ? sideName(0) : "It";
  const against = spec.sides === 2 ? ` against ${ownOpponent(spec)}` : "";
  const name = `Scene ${number}`;
  return h(
    "li",
    { class: "scene" },
    picture(spec, row.places, name),
    h(
      "div",
      { class: "told" },
      h("span", { class: "entry-name" }, name),
      h("span", { class: "success", title: `How often ${who.toLowerCase()} wins from this position, measured in 128 games${against}` }, success(row, who)),
      h("span", { class: "versions" }, versions(row)),
    ),
    button(
      [`remove-scene-${number}`, `Remove scene ${number}`],
      { text: "Remove", class: "button quiet", title: `Remove scene ${number}: stop practising it` },
      remove,
    ),
  );
}

function success({ before, now }: SceneRow, who: string): string {
  if (!before || !now) return "Measured when training starts";
  return before.version === now.version ? `${who} wins ${percent(now.share)}` : `${who} wins: before ${percent(before.share)} · now ${percent(now.share)}`;
}

function versions({ before, now }: SceneRow): string {
  if (!before || !now) return "";
  return before.version === now.version ? `v${now.version}` : `v${before.version} → v${now.version}`;
}

const SVG = "http://www.w3.org/2000/svg";

/** The scene from above: a dot for everything that can be dragged. */
function picture(spec: DrillSpec, places: SceneRow["places"], name: string): SVGSVGElement {
  const [x0, y0, x1, y1] = spec.world;
  const svg = element("svg", {
    viewBox: `0 0 ${x1 - x0} ${y1 - y0}`,
    class: "thumbnail",
    role: "img",
    "aria-label": `${name}: ${placesInWords(spec, places)}`,
  });
  places.forEach(([x, y], index) => {
    const handle = spec.drag[index];
    const ball = handle?.kind === "ball";
    const side = handle?.index ?? 0;
    svg.append(element("circle", { cx: x - x0, cy: y1 - y, r: ((ball ? 0.03 : 0.048) * (x1 - x0)).toFixed(3), class: ball ? "ball" : `side-${side}` }));
  });
  return svg;
}

function placesInWords(spec: DrillSpec, places: SceneRow["places"]): string {
  return places.map(([x, y], index) => `${spec.drag[index]?.name ?? "?"} at ${x.toFixed(1)}, ${y.toFixed(1)}`).join("; ");
}

function element<K extends keyof SVGElementTagNameMap>(tag: K, attributes: Record<string, string | number>): SVGElementTagNameMap[K] {
  const node = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, String(value));
  return node;
}
