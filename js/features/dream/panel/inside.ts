/** Play inside the dream: the person's keys drive the imagination, and the decoder draws it. */
import type { DrillSpec } from "../../../contract/protocol";
import type { PanelView } from "../../../panels/panel";
import { button, control, h, setText } from "../../../ui/dom";
import { percent, signed } from "../../../ui/format";
import { DreamLink } from "../link";
import { buildPicture } from "./picture";

const ARROWS: Record<string, string> = { ArrowUp: "↑", ArrowDown: "↓", ArrowLeft: "←", ArrowRight: "→" };

export function buildInside({ session, signal }: PanelView): HTMLElement {
  const dream = session.link(DreamLink);
  const picture = buildPicture("The dream");
  const screen = h("div", { class: "screen", tabindex: 0, role: "application", ...control("dream-screen") }, picture.element);
  const enter = button("dream-enter", { title: "Play inside the dream: the match pauses, and your keys drive what the model imagines" }, () => {
    dream.enter();
    screen.focus({ preventScroll: true });
  });
  const leave = button("dream-leave", { title: "Leave the dream: go back to the match" }, () => {
    dream.leave();
    enter.focus({ preventScroll: true });
  });
  const [steps, reward, total, goesOn] = [number(), number(), number(), number()];
  const numbers = h(
    "dl",
    { class: "numbers" },
    ...row("Steps", steps),
    ...row("Expected reward", reward),
    ...row("So far", total),
    ...row("Game continues", goesOn),
  );
  const keys = h("p", { class: "help" });
  const about = h("p", { class: "help" }, "Nothing here is the game: every picture, reward and end is what the model makes up.");
  const body = h("div", { class: "dreaming" }, screen, h("div", { class: "readout" }, numbers, keys, leave));

  const press = (event: KeyboardEvent, down: boolean) => {
    if (event.code === "Tab") return; // the way out for those who use no pointer
    if (event.code === "Escape" && down) leave.click();
    if (down && (event.ctrlKey || event.metaKey || event.altKey)) return;
    if (!(event.code in (session.model.get("drill")?.spec.keys ?? {}))) return;
    event.preventDefault();
    dream.key(event.code, down);
  };
  screen.addEventListener("keydown", (event) => press(event, true), { signal });
  screen.addEventListener("keyup", (event) => press(event, false), { signal });
  screen.addEventListener("pointerdown", () => screen.focus({ preventScroll: true }), { signal });
  screen.addEventListener("blur", () => dream.releaseKeys(), { signal });
  window.addEventListener("blur", () => dream.releaseKeys(), { signal });

  const follow = () => {
    const { inside } = dream;
    body.hidden = !inside;
    enter.hidden = inside !== null;
    enter.disabled = !dream.playing || !session.kernel.connected;
    body.dataset.steps = String(inside?.steps ?? "");
    picture.show(inside?.picture ?? null);
    if (!inside) return;
    setText(steps, String(Math.max(inside.steps, 0)));
    setText(reward, signed(inside.reward));
    setText(total, signed(inside.total));
    setText(goesOn, percent(inside.continues));
  };
  const rebuild = () => setText(keys, `${keyWords(session.model.get("drill")?.spec)} Escape leaves.`);
  for (const event of ["dream", "status"] as const) session.events.on(event, follow, signal);
  session.events.on("drill", rebuild, signal);
  rebuild();
  follow();
  return h("section", { class: "part inside" }, h("h3", {}, "Inside the dream"), about, enter, body);
}

function number(): HTMLElement {
  return h("dd", { class: "number" }, "–");
}

function row(name: string, value: HTMLElement): HTMLElement[] {
  return [h("dt", {}, name), value];
}

/** The first key of each option: "W forward, S back." */
function keyWords(spec: DrillSpec | undefined): string {
  const words = new Map<string, string>();
  for (const [code, [choice, option]] of Object.entries(spec?.keys ?? {})) {
    const key = ARROWS[code] ?? code.replace(/^(Key|Digit)/, "");
    if (!words.has(`${choice} ${option}`)) words.set(`${choice} ${option}`, `${key} ${option === "yes" ? choice : option}`);
  }
  return words.size > 0 ? `Keys: ${[...words.values()].join(", ")}.` : "";
}
