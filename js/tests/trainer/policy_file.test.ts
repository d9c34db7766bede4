import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { decode, PolicyFileError } from "../../trainer/files/policy_file";

/** A file that is its header alone. */
function file(header: string): Uint8Array {
  const text = new TextEncoder().encode(header);
  const content = new Uint8Array(8 + text.length);
  new DataView(content.buffer).setBigUint64(0, BigInt(text.length), true);
  content.set(text, 8);
  return content;
}

test.each([
  ["a text of quotes without an end", `{"${'\\"'.repeat(120_000)}`],
  ["a text of backslashes", `{"${"\\".repeat(240_001)}`],
  ["a number without an end", `{"a":${"1".repeat(240_000)}`],
  ["a fraction without an end", `{"a":1.${"1".repeat(240_000)}`],
])("a header is read once, whatever it holds: %s", async (_, header) => {
  await expect(decode(file(header))).rejects.toThrow(PolicyFileError);
});

test("numbers inside texts are texts", async () => {
  await expect(decode(file('{"__metadata__": {"format": "1.5e3 \\" 2.5"}}'))).rejects.toThrow("another program");
});

test("a file of release 0.1.0 is read, as a page may have kept it", async () => {
  const found = await decode(new Uint8Array(readFileSync("tests/formats/0.1.0/bot.dshq")));
  expect([found.drill, found.version]).toEqual(["bandit", 5]);
});
