import { expect, test } from "vitest";
import { keyOf } from "../storage";

test("a run is kept for whose server it is, and so offered to nobody else", () => {
  expect(keyOf("0123", "/user/ada/lab/tree/work")).toBe("ada/0123");
  expect(keyOf("0123", "/hub/user/ben/notebooks/a.ipynb")).toBe("ben/0123");
  expect(keyOf("0123", "/user/ada/lab")).not.toBe(keyOf("0123", "/user/ben/lab"));
});

test("without a hub the rules alone are its name, as in releases before", () => {
  expect(keyOf("0123", "/lab/tree/work")).toBe("0123");
  expect(keyOf("0123", "/")).toBe("0123");
});
