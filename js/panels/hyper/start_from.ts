/** What training starts from: an untrained network or a policy of the ladder. Can be chosen while nothing is learned. */
import type { Status } from "../../contract/protocol";
import { capital } from "../../contract/sentences";
import { field, h, select, setOptions, setText } from "../../ui/dom";
import type { PanelView } from "../panel";

const NOTHING = "";
const REST: readonly Status[] = ["idle", "stopped", "error"]; // no learner runs
const UNTRAINED = "Train begins with an untrained network.";
const LEARNED = "Something is learned already. To start from another policy, press Forget everything in the Lab first.";

/** Hidden in a drill without a ladder and where the page trains. */
export function buildStartFrom({ session, signal }: PanelView): HTMLElement {
  const chosen = select({}, []);
  const help = h("p", { class: "help" });
  const element = h("div", { class: "start-from" }, h("div", { class: "cluster" }, field("start-from", chosen)), help);

  chosen.addEventListener("change", () => {
    if (chosen.value === NOTHING) session.kernel.send({ type: "RESET_TRAINER" });
    else session.kernel.send({ type: "START_FROM", policy: chosen.value });
  });
  let known = "";
  const follow = () => {
    const { offered, now } = session.model.get("config")?.start ?? { offered: [], now: null };
    element.hidden = offered.length === 0 || !REST.includes(session.status);
    if (element.hidden) return;
    if (known !== offered.join()) {
      known = offered.join();
      setOptions(chosen, [[NOTHING, "Nothing"], ...offered.map((name) => [name, capital(name)] as const)]);
    }
    chosen.value = now ?? NOTHING;
    chosen.disabled = now === null;
    setText(help, now === null ? LEARNED : now ? `${capital(now)} plays. Train continues from it.` : UNTRAINED);
  };
  for (const name of ["config", "status"] as const) session.events.on(name, follow, signal);
  follow();
  return element;
}
