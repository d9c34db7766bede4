/** The Share menu: saves and loads the policy, saves the match as web page, replay, picture, GIF or video, plays a saved replay, and shows the match on the full screen. */

import type { FilmFormat, Theme } from "../contract/protocol";
import { makeFilm } from "../session/host/film_thread";
import { needsKernel } from "../session/kernel/lost_kernel";
import { fetchPage } from "../session/kernel/policy_files";
import { button, type ControlId, control, download, h, type Icon, setText } from "../ui/dom";
import { captionOf } from "./film_caption";
import { loadPolicy, savePolicy, takeDrops } from "./policy_files";
import type { View } from "./view";

const SAVE = "Save policy: the newest policy as a .dshq file";
const LOAD = "Load policy: choose a .dshq file, or drop one on the match";
const PAGE = "Save web page: downloads one HTML file to send; whoever opens it plays and trains in a browser, without a kernel";
const SAID_MS = 8_000; // that the word on what was saved stays
const PAGE_TRAINS = "Needs training in the kernel, but this page trains by itself now.";

/** What the menu says and where: under its entries how far something is, on the pitch what was saved. */
class Word {
  readonly under = h("p", { class: "said", role: "status", "aria-live": "polite" });
  readonly saved = h("p", { class: "saved", role: "status" });
  private timer: ReturnType<typeof setTimeout> | undefined;

  /** `close` closes the menu. */
  constructor(
    private readonly close: () => void,
    signal: AbortSignal,
  ) {
    this.under.hidden = this.saved.hidden = true;
    signal.addEventListener("abort", () => clearTimeout(this.timer), { once: true });
  }

  say(text: string): void {
    this.under.hidden = !text;
    setText(this.under, text);
  }

  /** It is done: the menu closes, and what was saved is said on the pitch for a while. */
  done(name: string): void {
    this.say("");
    this.close();
    setText(this.saved, `Saved ${name}.`);
    this.saved.hidden = false;
    clearTimeout(this.timer);
    this.timer = setTimeout(() => (this.saved.hidden = true), SAID_MS);
  }

  /** Hands a file to the browser's downloads. */
  keep(name: string, content: Blob): void {
    download(name, content);
    this.done(name);
  }
}

/** One entry: what it does may take a while and may fail, and both are written under the entries. */
function buildEntry(word: Word, id: ControlId, icon: Icon, title: string, act: () => void | Promise<void>): HTMLButtonElement {
  const element = button(id, { icon, title, class: "button entry" }, async () => {
    if (element.getAttribute("aria-busy") === "true") return;
    element.setAttribute("aria-busy", "true");
    word.say("");
    try {
      await act();
    } catch (error) {
      word.say((error as Error).message);
    }
    element.removeAttribute("aria-busy");
  });
  return element;
}

/** A file picker; what is wrong with the chosen file is said, else the menu closes. */
function buildPicker(word: Word, id: ControlId, accept: string, take: (file: File) => Promise<void>, close: () => void): HTMLInputElement {
  const input = h("input", { type: "file", accept, ...control(id), tabindex: -1 });
  input.hidden = true;
  input.addEventListener("change", () => {
    const chosen = input.files?.[0];
    input.value = ""; // the same file may be chosen again
    if (chosen) take(chosen).then(close, (error: Error) => word.say(error.message));
  });
  return input;
}

/** The entries that save or play the match itself. `score` is what the scoreboard shows. */
function buildMatchEntries({ session, signal }: View, word: Word, theme: () => Theme, score: () => [number, number], choose: () => void) {
  const film = async (format: FilmFormat, called: string) => {
    const drill = session.model.get("drill");
    if (!drill) return;
    const { spec, javascript } = drill;
    const caption = captionOf(session, score());
    const order = { format, spec, javascript, recording: await session.record(), theme: theme(), caption };
    const content = await makeFilm(order, (share) => word.say(`Making the ${called}: ${Math.round(100 * share)} %`), signal);
    word.keep(`${spec.name}.${format}`, content);
  };
  const page = buildEntry(word, "web-page", "save", PAGE, async () => {
    word.say("Making the web page.");
    const made = await fetchPage(session, signal);
    download(made.name, made);
    word.done(`${made.name}. Send this file: it opens in any browser`);
  });
  const replay = buildEntry(word, "save-replay", "save", "Save replay: this match as seed, inputs and actions", async () => {
    const recording = await session.record();
    word.keep(`${recording.drill}-seed${recording.seed}.json`, new Blob([JSON.stringify(recording)], { type: "application/json" }));
  });
  return {
    page,
    replay,
    play: buildEntry(word, "load-replay", "open", "Load replay: plays a saved replay here; the live match waits", choose),
    picture: buildEntry(word, "save-picture", "picture", "Save picture: the match as it is now, as PNG", () => film("png", "picture")),
    gif: buildEntry(word, "save-gif", "film", "Save GIF: the last 10 seconds of play, as a small file", () => film("gif", "GIF")),
    video: buildEntry(word, "save-video", "film", "Save video: the last 10 seconds of play, as WebM", () => film("webm", "video")),
  };
}

/** Opens and closes a menu by its `opener`, by a press elsewhere and by Escape; `first` has the focus when it opens. */
function openBy(opener: HTMLElement, menu: HTMLElement, first: () => HTMLElement, signal: AbortSignal): (open: boolean) => void {
  opener.setAttribute("aria-expanded", "false");
  opener.setAttribute("aria-controls", menu.id);
  const setOpen = (open: boolean) => {
    menu.hidden = !open;
    opener.setAttribute("aria-expanded", String(open));
    if (open) first().focus();
  };
  const outside = (event: Event) => !event.composedPath().some((target) => target === menu || target === opener); // in a shadow root, too
  document.addEventListener("pointerdown", (event) => !menu.hidden && outside(event) && setOpen(false), { signal });
  menu.addEventListener("keydown", (event) => {
    if (event.key !== "Escape") return;
    setOpen(false);
    opener.focus();
  });
  return setOpen;
}

/**
 * The button and its menu; `stage` is what the menu lies over and what fills the screen, and takes policy files that are dropped. `score`
 * is what the scoreboard shows.
 */
export function buildShare(
  view: View,
  stage: HTMLElement,
  theme: () => Theme,
  score: () => [number, number],
): { button: HTMLElement; menu: HTMLElement; saved: HTMLElement; open(): void } {
  const { session, signal } = view;
  const close = () => setOpen(false);
  const word = new Word(() => {
    const held = menu.querySelector(":focus") !== null;
    close();
    if (held) opener.focus();
  }, signal);
  const file = buildPicker(word, "policy-file", ".dshq", (chosen) => loadPolicy(session, chosen), close);
  const recorded = buildPicker(word, "replay-file", ".json", (chosen) => session.replay.load(chosen), close);
  const save = buildEntry(word, "save-policy", "save", SAVE, async () => word.done(`${await savePolicy(session, signal)}, the newest version`));
  const load = buildEntry(word, "load-policy", "open", LOAD, () => file.click());
  const { page, picture, gif, video, replay, play } = buildMatchEntries(view, word, theme, score, () => recorded.click());
  const full = buildEntry(word, "full-screen", "expand", "Full screen: the match alone; Escape ends it", async () => {
    close();
    opener.focus(); // the menu, which had the focus, is gone
    if (document.fullscreenElement) await document.exitFullscreen();
    else await stage.requestFullscreen({ navigationUI: "hide" });
  });
  full.hidden = !document.fullscreenEnabled;

  const entries = [page, picture, save, gif, load, video, replay, full, play]; // first what one sends
  const menu = h("div", { class: "share-menu", role: "group", "aria-label": "Share this match" }, ...entries, file, recorded, word.under);
  for (const element of [picture, gif, replay, play, page, video]) element.hidden = session.pictures; // they play the match again, by its rules
  menu.id = `${session.id}-share-${views++}`;
  menu.hidden = true;
  const opener = button("share", { icon: "share", class: "button on-board", title: "Share: save or load the policy, save the match" }, () =>
    setOpen(menu.hidden),
  );
  const setOpen = openBy(opener, menu, () => (save.disabled ? replay : save), signal);

  const follow = () => {
    for (const element of [save, load]) {
      element.disabled = !session.kernel.connected;
      element.title = element.disabled ? needsKernel(session.model) : element === save ? SAVE : LOAD;
    }
    const inPage = session.model.trainedBy === "page"; // then the kernel does not have what was learned
    page.disabled = inPage || !session.kernel.connected;
    page.title = inPage ? PAGE_TRAINS : page.disabled ? needsKernel(session.model) : PAGE;
  };
  session.events.on("status", follow, signal);
  follow();
  takeDrops(stage, session, signal);
  return { button: opener, menu, saved: word.saved, open: () => setOpen(true) };
}

let views = 0;
