/** With a full stop at the end, where nothing else ends it: the kernel's texts are written without one. */
export function withStop(text: string): string {
  return !text || /[.!?…]$/.test(text) ? text : `${text}.`;
}

/** With a capital and a full stop. */
export function asSentence(text: string): string {
  return capital(withStop(text));
}

/** With a capital at the beginning. */
export function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
