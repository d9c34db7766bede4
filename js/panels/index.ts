/** Every panel, in reading order. A new panel is one file here and one line. */
import { charts } from "./charts";
import { headline } from "./headline";
import { hyper } from "./hyper";
import { mind } from "./mind";
import type { Panel } from "./panel";
import { status } from "./status";
import { training } from "./training";
import { transport } from "./transport";

export const PANELS: readonly Panel[] = [transport, training, status, headline, charts, mind, hyper];
