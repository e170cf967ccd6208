/** Runs before every test file: a test fails if a gateway has not given back all that it took. */
import { afterEach } from 'vitest';
import { takeLeftovers } from './leftovers.ts';

afterEach(async () => {
  const left = await takeLeftovers();
  if (left.length === 0) return;
  // A property makes hundreds of gateways that leave the same.
  const counts = new Set(left.map(([what, count]) => `${count} ${what}`));
  throw new Error(`Without upstream and callers, a gateway still has ${[...counts].join(', ')}.`);
});
