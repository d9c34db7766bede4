// @vitest-environment happy-dom
import { expect, it, vi } from "vitest";
import { button, h } from "../../ui/dom";
import { fillRows } from "../../ui/rows";

const press = vi.fn();
const row = (key: string, number: number, won = "") => ({
  key,
  element: h(
    "li",
    { title: won || null },
    h("span", {}, `${number}. ${key}`, won ? h("em", {}, won) : null),
    button([`remove-${number}`, `Remove ${number}`], {}, () => press(key)),
  ),
});

it("keeps the row that a person presses while its texts change, rows move and others go", () => {
  const list = h("ol");
  document.body.append(list);
  fillRows(list, [row("a", 1), row("b", 2, "won"), row("c", 3)]);
  const held = list.querySelectorAll("button")[1]!;
  held.focus();
  const asked = [row("c", 1), row("b", 2), row("d", 3)];
  const looks = asked.map(({ element }) => element.cloneNode(true));
  fillRows(list, asked);
  expect(list.querySelectorAll("button")[1]).toBe(held);
  expect(document.activeElement).toBe(held);
  const bare = [...list.children].map((element) => {
    const copy = element.cloneNode(true) as Element;
    copy.removeAttribute("data-row");
    return copy;
  });
  expect(bare).toEqual(looks);
  held.click();
  expect(press.mock.calls).toEqual([["b"]]);
  fillRows(list, [row("b", 1, "lost")]);
  expect(list.textContent).toBe("1. blostRemove 1");
  expect(held.getAttribute("data-control")).toBe("remove-1");
  fillRows(list, []);
  expect(list.childNodes.length).toBe(0);
});
