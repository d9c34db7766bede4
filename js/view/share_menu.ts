/** The Share menu: saves and loads the policy, saves the match as replay, picture, GIF or video, and shows it on the full screen. */

import type { FilmFormat, Theme } from "../contract/protocol";
import { makeFilm } from "../session/film_thread";
import { button, download, h, type Icon, setText } from "../ui/dom";
import { captionOf } from "./film_caption";
import { loadPolicy, savePolicy, takeDrops } from "./policy_files";
import type { View } from "./view";

const NEEDS_KERNEL = "Needs a kernel. Run the cell again.";

const SAVE = "Save policy: the newest policy as a .dshq file";
const LOAD = "Load policy: choose a .dshq file, or drop one on the match";

/**
 * The button and its menu; `stage` is what the menu lies over and what fills the screen, and takes policy files that are dropped. `score`
 * is what the scoreboard shows.
 */
export function buildShare(
  view: View,
  stage: HTMLElement,
  theme: () => Theme,
  score: () => [number, number],
): { button: HTMLElement; menu: HTMLElement; open(): void } {
  const { session, signal } = view;
  const said = h("p", { class: "said", role: "status", "aria-live": "polite" });
  const say = (text: string) => {
    said.hidden = !text;
    setText(said, text);
  };
  /** One entry: what it does may take a while and may fail, and both are written under the entries. */
  const entry = (name: string, icon: Icon, title: string, act: () => void | Promise<void>) => {
    const element = button(name, { icon, text: name, title, class: "button entry" }, async () => {
      if (element.getAttribute("aria-busy") === "true") return;
      element.setAttribute("aria-busy", "true");
      say("");
      try {
        await act();
      } catch (error) {
        say((error as Error).message);
      }
      element.removeAttribute("aria-busy");
    });
    return element;
  };

  const file = h("input", { type: "file", accept: ".dshq", "aria-label": "Policy file", tabindex: -1 });
  file.hidden = true;
  file.addEventListener("change", () => {
    const chosen = file.files?.[0];
    file.value = ""; // the same file may be chosen again
    if (chosen)
      loadPolicy(session, chosen).then(
        () => setOpen(false),
        (error: Error) => say(error.message),
      );
  });

  const save = entry("Save policy", "save", SAVE, () => savePolicy(session, signal));
  const load = entry("Load policy", "open", LOAD, () => file.click());
  const replay = entry("Save replay", "save", "Save replay: this match as seed, inputs and actions", async () => {
    const recording = await session.record();
    download(`${recording.drill}-seed${recording.seed}.json`, new Blob([JSON.stringify(recording)], { type: "application/json" }));
  });
  const film = async (format: FilmFormat, called: string) => {
    const drill = session.model.get("drill");
    if (!drill) return;
    const { spec, javascript } = drill;
    const caption = captionOf(session, score());
    const order = { format, spec, javascript, recording: await session.record(), theme: theme(), caption };
    const content = await makeFilm(order, (share) => say(`Making the ${called}: ${Math.round(100 * share)} %`));
    say("");
    download(`${spec.name}.${format}`, content);
  };
  const picture = entry("Save picture", "picture", "Save picture: the match as it is now, as PNG", () => film("png", "picture"));
  const gif = entry("Save GIF (last 10 s)", "film", "Save GIF: the last 10 seconds of play, as a small file", () => film("gif", "GIF"));
  const video = entry("Save video (last 10 s)", "film", "Save video: the last 10 seconds of play, as WebM", () => film("webm", "video"));

  const full = entry("Full screen", "expand", "Full screen: the match alone; Escape ends it", async () => {
    setOpen(false);
    opener.focus(); // the menu, which had the focus, is gone
    if (document.fullscreenElement) await document.exitFullscreen();
    else await stage.requestFullscreen({ navigationUI: "hide" });
  });
  full.hidden = !document.fullscreenEnabled;

  const entries = [save, picture, load, gif, replay, video, full];
  const menu = h("div", { class: "share-menu", role: "group", "aria-label": "Share this match" }, ...entries, file, said);
  for (const element of [picture, gif, replay, video]) element.hidden = session.pictures; // they play the match again, by its rules
  menu.id = `${session.id}-share-${views++}`;
  menu.hidden = said.hidden = true;
  const opener = button("Share", { icon: "share", text: "Share", class: "button on-board", title: "Share: save or load the policy, save the match" }, () =>
    setOpen(menu.hidden),
  );
  opener.setAttribute("aria-expanded", "false");
  opener.setAttribute("aria-controls", menu.id);
  const setOpen = (open: boolean) => {
    menu.hidden = !open;
    opener.setAttribute("aria-expanded", String(open));
    if (open) save.disabled ? replay.focus() : save.focus();
  };
  const inside = (target: EventTarget | null) => target instanceof Node && (menu.contains(target) || opener.contains(target));
  document.addEventListener("pointerdown", (event) => !menu.hidden && !inside(event.target) && setOpen(false), { signal });
  menu.addEventListener("keydown", (event) => {
    if (event.key !== "Escape") return;
    setOpen(false);
    opener.focus();
  });

  const follow = () => {
    for (const element of [save, load]) {
      element.disabled = !session.kernel.connected;
      element.title = element.disabled ? NEEDS_KERNEL : element === save ? SAVE : LOAD;
    }
  };
  session.events.on("status", follow, signal);
  follow();
  takeDrops(stage, session, signal);
  return { button: opener, menu, open: () => setOpen(true) };
}

let views = 0;
