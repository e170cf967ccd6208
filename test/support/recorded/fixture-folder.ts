/** Loads recorded exchanges from a folder with an index. */
import { readFileSync } from 'node:fs';
import type { z } from 'zod';

/** What every row of an index has. */
interface Row {
  /** Category and file without its endings: `openai-chat/stream-usage.1`. */
  readonly id: string;
  readonly cat: string;
  readonly files: readonly string[];
}

/** The exchanges of a folder. */
export interface FixtureFolder<Category extends string, T> {
  /** Every exchange, or those of the given categories, in the order of the index. */
  all(...wanted: readonly Category[]): readonly T[];
  /** The one exchange of that name. */
  one(name: string): T;
}

/** Reads one side of an exchange; undefined if it was not recorded. */
export type ReadSide = (side: 'request' | 'response') => Uint8Array | undefined;

/** Opens a folder below `test/fixtures`, which has an `index.json`. */
export function fixtureFolder<Category extends string, R extends Row & { cat: Category }, T>(
  path: string,
  index: z.ZodType<readonly R[]>,
  load: (row: R, read: ReadSide) => T,
): FixtureFolder<Category, T> {
  const folder = new URL(`../../fixtures/${path}`, import.meta.url);
  const rows = (): readonly R[] =>
    index.parse(JSON.parse(readFileSync(new URL('index.json', folder), 'utf8')));
  const loaded = (row: R): T =>
    load(row, (side) => {
      const file = row.files.find((name) => name.startsWith(`${row.id}.${side}.`));
      return file === undefined ? undefined : readFileSync(new URL(file, folder));
    });
  return {
    all: (...wanted) =>
      rows()
        .filter(({ cat }) => wanted.length === 0 || wanted.includes(cat))
        .map(loaded),
    one: (name) => {
      const row = rows().find(({ id }) => id === name);
      if (row === undefined) throw new Error(`There is no fixture named "${name}".`);
      return loaded(row);
    },
  };
}
