/** In which word of a game's state each field begins. */
export function placesOf(fields: readonly (readonly [name: string, type: string, length: number])[]): Record<string, number> {
  let word = 0;
  return Object.fromEntries(
    fields.map(([name, , length]) => {
      const place = word;
      word += length || 1;
      return [name, place];
    }),
  );
}
