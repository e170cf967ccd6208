// suite: quick runtime
/** The default ids of the gateway. */
import { expect, it } from 'vitest';
import { randomIds } from '../src/random-ids.ts';

it('are 22 characters that every store accepts, and never repeat', () => {
  const sources = [randomIds(), randomIds()];
  const ids = sources.flatMap((next) => Array.from({ length: 1_000 }, next));

  expect(ids.filter((id) => !/^[A-Za-z0-9_-]{22}$/.test(id))).toEqual([]);
  expect(new Set(ids).size).toBe(2_000);
});
