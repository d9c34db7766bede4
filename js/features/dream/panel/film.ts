/** The next steps: what was imagined, frame by frame, and below each what came. */

import type { PanelView } from "../../../panels/panel";
import { button, h, setText } from "../../../ui/dom";
import { percent, signed } from "../../../ui/format";
import { DreamLink, IMAGINED_STEPS } from "../link";
import { buildPicture } from "./picture";

export function buildFilm({ session, signal }: PanelView): HTMLElement {
  const dream = session.link(DreamLink);
  const cells = Array.from({ length: IMAGINED_STEPS }, (_, k) => {
    const [imagined, truth] = [buildPicture(`Imagined, step ${k + 1}`), buildPicture(`What came, step ${k + 1}`)];
    return { item: h("li", {}, h("span", { class: "step" }, `+${k + 1}`), imagined.element, truth.element), imagined, truth };
  });
  const again = button("imagine-again", { title: "Imagine again: from where the match is now" }, () => dream.imagine());
  const says = h("p", { class: "help" });
  const strip = h("ol", { class: "strip", "aria-label": "Imagined steps, and the actual frames" }, ...cells.map(({ item }) => item));

  const follow = () => {
    const { film } = dream;
    cells.forEach(({ imagined, truth }, k) => {
      imagined.show(film?.imagined[k] ?? null);
      truth.show(film?.truth[k] ?? null);
    });
    again.disabled = !dream.playing || !session.kernel.connected;
    strip.dataset.truths = String(film?.truth.length ?? 0);
    if (!film) setText(says, "Nothing is imagined yet.");
    else {
      const reward = film.reward.reduce((sum, each) => sum + each, 0);
      const goesOn = film.continues.reduce((chance, each) => chance * each, 1);
      const end = film.ended ? " The game ended here." : "";
      setText(says, `It expects a reward of ${signed(reward)}, and the game to continue with ${percent(goesOn)}.${end}`);
    }
  };
  for (const event of ["dream", "status"] as const) session.events.on(event, follow, signal);
  follow();
  const head = h("div", { class: "cluster" }, h("h3", {}, `The next ${IMAGINED_STEPS} steps of the model`), again);
  const key = h("p", { class: "help" }, "Above: imagined frames. Below: the actual ones.");
  return h("section", { class: "part film" }, head, key, strip, says);
}
