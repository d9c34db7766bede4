/** Compares a setting that a person typed with the one that the kernel reports. */
import type { ConfigValue } from "../../contract/protocol";

/** Whether a setting as typed is the one that the kernel reports: 64, 64 is [64, 64], and self=.75 is self=0.75. */
export function sameSetting(kernel: ConfigValue | undefined, typed: ConfigValue): boolean {
  const plain = (value: ConfigValue | undefined) =>
    String(value)
      .split(",")
      .map((part) => {
        const [name, number] = part.split("=").map((word) => word.trim());
        return number === undefined ? name : `${name}=${Number(number)}`;
      })
      .join();
  return plain(kernel) === plain(typed);
}
