/** Every panel, in reading order. A new panel is one file here and one line. */
import { charts } from "./charts";
import { ghost } from "./ghost";
import { headline } from "./headline";
import { hyper } from "./hyper";
import { league } from "./league";
import { log } from "./log";
import { mind } from "./mind";
import type { Panel } from "./panel";
import { status } from "./status";
import { training } from "./training";
import { transport } from "./transport";

export const PANELS: readonly Panel[] = [transport, ghost, training, status, headline, charts, mind, league, log, hyper];
