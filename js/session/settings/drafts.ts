/** Settings that a person changed here, until the kernel has them: at once while training runs and the setting allows it, else with the next Train. */
import type { Model } from "../../contract/model";
import type { ConfigValue } from "../../contract/protocol";
import type { KernelLink } from "../kernel/kernel_link";
import { runSettings } from "./run_settings";
import { sameSetting } from "./same_setting";

export class Drafts {
  values: Readonly<Record<string, ConfigValue>> = {};

  /** `taken`: whether a feature sees to a setting of its own; `changed` is called after each change. */
  constructor(
    private readonly model: Pick<Model, "get">,
    private readonly kernel: Pick<KernelLink, "send">,
    private readonly taken: (key: string, value: ConfigValue) => boolean,
    private readonly changed: () => void,
  ) {}

  /** Starts training with them. */
  train(): void {
    this.kernel.send({ type: "START_TRAINING", ...this.values });
  }

  /** Learns once, then holds; starts training for that where none runs. */
  nextUpdate(): void {
    this.kernel.send({ type: "NEXT_UPDATE", ...this.values });
  }

  set(key: string, value: ConfigValue): void {
    if (this.taken(key, value)) return;
    this.values = { ...this.values, [key]: value };
    const running = this.model.get("status") === "training" || this.model.get("status") === "starting";
    if (running && runSettings(this.model.get("config")).schema[key]?.effect !== "restart") this.kernel.send({ type: "SET_HYPER", key, value });
    this.changed();
  }

  /** Forgets what the kernel has by now. */
  follow(): void {
    const { values } = runSettings(this.model.get("config"));
    const open = Object.entries(this.values).filter(([key, value]) => key in values && !sameSetting(values[key], value));
    this.values = Object.fromEntries(open);
  }
}
