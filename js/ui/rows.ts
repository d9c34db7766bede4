/** Lists whose rows a person may press while they change. */

/** One row: what it is about, and how it looks now. Whoever has the same `key` is the same row. */
export interface Row {
  key: string;
  element: Element;
}

/**
 * Fills a list. A row that is there already stays the node that it is, so that a press under way and the focus are not lost: it takes over
 * the texts and the attributes of the new element, and keeps its own listeners. These may therefore depend on the key, and on nothing else.
 */
export function fillRows(list: Element, rows: readonly Row[]): void {
  const there = new Map([...list.children].map((element) => [element.getAttribute(KEY), element]));
  const wanted = rows.map(({ key, element }) => {
    element.setAttribute(KEY, key);
    const old = there.get(key);
    if (old?.tagName !== element.tagName) return element;
    follow(old, element);
    return old;
  });
  for (const element of there.values()) if (!wanted.includes(element)) element.remove();
  wanted.forEach((element, place) => {
    if (list.children[place] !== element) list.insertBefore(element, list.children[place] ?? null);
  });
}

const KEY = "data-row";

/** Makes an element look like another one of the same tag. */
function follow(old: Element, now: Element): void {
  for (const { name } of [...old.attributes]) if (!now.hasAttribute(name)) old.removeAttribute(name);
  for (const { name, value } of now.attributes) if (old.getAttribute(name) !== value) old.setAttribute(name, value);
  const [before, after] = [[...old.childNodes], [...now.childNodes]];
  after.forEach((child, place) => {
    const held = before[place];
    if (!held) old.append(child);
    else if (held instanceof Text && child instanceof Text) held.data = child.data;
    else if (held instanceof Element && child instanceof Element && held.tagName === child.tagName) follow(held, child);
    else held.replaceWith(child);
  });
  for (const child of before.slice(after.length)) child.remove();
}
