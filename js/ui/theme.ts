/** Light or dark, less motion, pixels: what the notebook (JupyterLab, VS Code, marimo, docs themes), else the system, wants of a picture. */
import type { Theme } from "../contract/protocol";

/** The notebook's theme, else the system's. */
export function detectTheme(): Theme {
  const { body, documentElement: html } = document;
  if (body.dataset.jpThemeLight) return body.dataset.jpThemeLight === "false" ? "dark" : "light";
  const kind = body.dataset.vscodeThemeKind;
  if (kind) return kind.includes("dark") || kind === "vscode-high-contrast" ? "dark" : "light";
  for (const element of [html, body]) {
    if (element.classList.contains("dark") || element.dataset.theme === "dark") return "dark";
    if (element.classList.contains("light") || element.dataset.theme === "light") return "light";
  }
  return matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
}

/** Calls `changed` at every change of theme or of the wish for less motion until `signal` ends. */
export function watchTheme(changed: () => void, signal: AbortSignal): void {
  const observer = new MutationObserver(changed);
  for (const element of [document.documentElement, document.body]) observer.observe(element, { attributes: true });
  for (const query of ["(prefers-color-scheme: dark)", "(prefers-reduced-motion: reduce)"]) {
    matchMedia(query).addEventListener("change", changed, { signal });
  }
  signal.addEventListener("abort", () => observer.disconnect(), { once: true });
}

/** Calls `changed` whenever a CSS pixel gets another number of device pixels, as on another screen, until `signal` ends. */
export function watchDensity(changed: () => void, signal: AbortSignal): void {
  const listen = () => {
    const now = matchMedia(`(resolution: ${devicePixelRatio}dppx)`);
    const other = () => {
      listen();
      changed();
    };
    now.addEventListener("change", other, { signal, once: true });
  };
  listen();
}

export function reducedMotion(): boolean {
  return matchMedia("(prefers-reduced-motion: reduce)").matches;
}
