/** What the page offers about training by itself: a sentence and its buttons, above the match. */

import { button, download, h } from "../../ui/dom";

type OfferControl = "train-in-page" | "keep-policy" | "continue-kept" | "other-kept" | "discard-kept";

/** What a person may do, in a sentence and one or two buttons. */
export interface Offer {
  text: string;
  actions: { control: OfferControl; act: () => void | Promise<void> | Promise<File> }[]; // a file is for the person to keep
}

/** Who makes offers, one at a time. */
interface Offers {
  readonly offer: Offer | null;
  onOffer(changed: () => void, signal: AbortSignal): void;
}

export function buildOffer(training: Offers, signal: AbortSignal): HTMLElement {
  const element = h("div", { class: "offer", role: "status", "aria-live": "polite" });
  const follow = () => {
    const { offer } = training;
    const held = element.querySelector<HTMLElement>(":focus")?.dataset.control;
    element.hidden = !offer;
    element.replaceChildren();
    if (!offer) return;
    const said = h("p", { class: "sentence" }, offer.text);
    const buttons = offer.actions.map(({ control, act }, k) =>
      button(control, { class: k === 0 ? "button primary" : "button" }, () => {
        Promise.resolve(act()).then(
          (file) => file && download(file.name, file),
          (error: Error) => {
            said.textContent = error.message;
          },
        );
      }),
    );
    element.append(said, h("div", { class: "cluster" }, ...buttons));
    if (held) element.querySelector<HTMLElement>(`[data-control="${held}"]`)?.focus({ preventScroll: true }); // the place keeps the focus
  };
  training.onOffer(follow, signal);
  follow();
  return element;
}
