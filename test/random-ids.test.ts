/** The ids that the gateway makes by itself. */
import { expect, it } from 'vitest';
import { randomIds } from '../src/random-ids.ts';

it('are 22 characters that every store takes, and none comes twice', () => {
  const sources = [randomIds(), randomIds()];
  const ids = sources.flatMap((next) => Array.from({ length: 1_000 }, next));

  expect(ids.filter((id) => !/^[A-Za-z0-9_-]{22}$/.test(id))).toEqual([]);
  expect(new Set(ids).size).toBe(2_000);
});
