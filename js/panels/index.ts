/**
 * The panels that every game has, by name; features bring others. A new one is one file here, a line below and one in protocol.py's
 * PANELS, whose order is the order in which the panels stand.
 *
 * Folder `panels`: one file or folder per panel. Panels know the session, never one another.
 */
import type { PanelName } from "../contract/protocol";
import { PANELS as NAMES } from "../contract/tables";
import { algorithm } from "./algorithm";
import { charts } from "./charts/charts";
import { headline } from "./headline";
import { hyper } from "./hyper/hyper";
import { log } from "./log";
import { mind } from "./mind/mind";
import { pace } from "./pace";
import type { Panel } from "./panel";
import { quota } from "./quota";
import { rewards } from "./rewards/rewards";
import { status } from "./status/status";
import { training } from "./training";
import { transport } from "./transport/transport";

export const PANEL_NAMES: readonly PanelName[] = NAMES;
export const PANELS: Partial<Record<PanelName, Panel>> = {
  transport,
  training,
  seat: quota,
  pace,
  status,
  headline,
  charts,
  mind,
  log,
  rewards,
  hyper,
  algorithm,
};
