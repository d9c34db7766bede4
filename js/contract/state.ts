type Fields = readonly (readonly [name: string, type: string, length: number])[];

/** Words of a game's state. */
export function countWords(fields: Fields): number {
  return fields.reduce((sum, [, , length]) => sum + (length || 1), 0);
}

/** In which word of a game's state each field begins. */
export function placesOf(fields: Fields): Record<string, number> {
  let word = 0;
  return Object.fromEntries(
    fields.map(([name, , length]) => {
      const place = word;
      word += length || 1;
      return [name, place];
    }),
  );
}
