import { expect, it } from "vitest";
import { clock, compact, fixed, multiple, percent, signed } from "../../ui/format";

it.each([
  [0, "0"],
  [950, "950"],
  [999.6, "1k"],
  [12_345, "12.3k"],
  [1_050_000, "1.05M"],
  [-0.00391, "-0.0039"],
  [0.5, "0.5"],
  [0.00004, "4e-5"],
  [Number.NaN, "–"],
  [undefined, "–"],
])("compact(%s) is %s", (value, text) => expect(compact(value)).toBe(text));

it("percent rounds a share", () => {
  expect(percent(0.894)).toBe("89%");
  expect(percent(null)).toBe("–");
});

it("multiple names a speed", () => {
  expect([0.25, 0.5, 1, 32].map(multiple)).toEqual(["¼ ×", "½ ×", "1 ×", "32 ×"]);
});

it("clock counts minutes, and hours where there are any", () => {
  expect(clock(61.9)).toBe("1:01");
  expect(clock(3723)).toBe("1:02:03");
});

it("fixed and signed write a true minus, and none before nothing", () => {
  expect([fixed(-1.234), fixed(-0.001), fixed(12.34, 1)]).toEqual(["−1.23", "0.00", "12.3"]);
  expect([signed(0.5), signed(-0.001), signed(-2)]).toEqual(["+0.50", "+0.00", "−2.00"]);
});
