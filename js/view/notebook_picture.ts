/**
 * Leaves a picture of the match in the notebook when JupyterLab saves it. Its widget renderer comes before all others and shows an error
 * where a notebook names a widget that is gone, so the picture stands there as a widget of its own, under the same id: ipywidgets' HTML,
 * in the notebook's metadata, where JupyterLab looks for widgets that no kernel has (docs/howto/embed.md).
 */
import type { View } from "./view";

const STATE = "application/vnd.jupyter.widget-state+json";
const WIDTH = 480; // pixels
const MARK = "<!--dshq-->"; // begins the HTML of such pictures

type Saved = Record<string, { model_name: string; model_module: string; model_module_version: string; state: { value?: string } }>;
type Widgets = Record<string, { state?: Saved } | undefined>;
/** What JupyterLab's widget manager has of its notebook; other front ends have none. */
interface Context {
  model: { getMetadata?(key: "widgets"): Widgets | undefined; setMetadata(key: "widgets", value: object): void; toJSON(): { cells?: unknown } };
  saveState: { connect(slot: Slot): void; disconnect(slot: Slot): void };
}
type Slot = (sender: unknown, state: string) => void;

/** Until the view ends; `pitch` holds the canvas of the match. */
export function leavePicture({ session, signal }: View, pitch: HTMLElement): void {
  const { context } = (session.model.widget_manager ?? {}) as { context?: Context };
  const id = session.model.get("comm_id");
  if (!id || !context?.model.getMetadata) return;
  const follow: Slot = (_, state) => {
    if (state === "started") write(context.model, id, () => html(pitch.querySelector("canvas")!));
  };
  context.saveState.connect(follow);
  signal.addEventListener("abort", () => context.saveState.disconnect(follow), { once: true });
}

function write(notebook: Context["model"], id: string, picture: () => string): void {
  const widgets = notebook.getMetadata!("widgets") ?? {};
  const saved = widgets[STATE]?.state ?? {};
  const ours = (key: string) => saved[key]?.state.value?.startsWith(MARK);
  if (saved[id] && !ours(id)) return; // JupyterLab saves the widgets themselves
  const outputs = JSON.stringify(notebook.toJSON().cells);
  const state = Object.fromEntries(Object.entries(saved).filter(([key]) => !ours(key) || outputs.includes(key)));
  state[id] = { model_name: "HTMLModel", model_module: "@jupyter-widgets/controls", model_module_version: "2.0.0", state: { value: picture() } };
  notebook.setMetadata("widgets", { ...widgets, [STATE]: { version_major: 2, version_minor: 0, state } });
}

function html(match: HTMLCanvasElement): string {
  const copy = document.createElement("canvas");
  copy.width = WIDTH;
  copy.height = Math.round((WIDTH * match.clientHeight) / (match.clientWidth || 1)) || 1;
  copy.getContext("2d")!.drawImage(match, 0, 0, copy.width, copy.height);
  const source = copy.toDataURL("image/webp", 0.8);
  return `${MARK}<img alt="" style="max-width: 100%; border-radius: 8px" src="${source}"><p>Saved picture of a DrillWidget. Run this cell to play.</p>`;
}
