/**
 * Whose key it is. What is typed into the widget is no shortcut of the notebook around it, but keys with Ctrl or Cmd are: Ctrl+S saves
 * the notebook wherever the focus is. Escape gives the keys back.
 */

const SUPPRESS = "data-lm-suppress-shortcuts"; // JupyterLab takes no shortcut from inside an element that has it (@lumino/commands)
const WIDGET = ".dshq-widget"; // the root of every view
const EDITING = ["KeyA", "KeyC", "KeyV", "KeyX", "KeyY", "KeyZ"]; // these are a text field's own

/** Keeps keys from what is around `root`, until `signal` ends. */
export function keepKeys(root: HTMLElement, signal: AbortSignal): void {
  root.setAttribute(SUPPRESS, "true");
  // JupyterLab listens at the document while an event comes down, so this is decided before, at the window
  const decide = (event: KeyboardEvent) => {
    if (!event.composedPath().includes(root)) return;
    if (isTheirs(event)) root.removeAttribute(SUPPRESS);
    else root.setAttribute(SUPPRESS, "true");
  };
  window.addEventListener("keydown", decide, { capture: true, signal });
  for (const type of ["keydown", "keyup", "keypress"] as const) {
    root.addEventListener(type, (event) => isTheirs(event) || event.stopPropagation(), { signal });
  }
}

/** Whether a key is the notebook's, or the browser's, although the focus is in the widget. */
function isTheirs(event: KeyboardEvent): boolean {
  if (!event.ctrlKey && !event.metaKey) return false;
  return !(EDITING.includes(event.code) && event.target instanceof HTMLInputElement);
}

/** Moves the focus from the widget to what is around it: the notebook's cell, where there is one. */
export function giveBackKeys(focused: HTMLElement): void {
  const around = focused.closest(WIDGET)?.parentElement?.closest<HTMLElement>("[tabindex]");
  if (around) around.focus({ preventScroll: true });
  else focused.blur();
}
