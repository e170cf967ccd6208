// suite: slow
/**
 * Random histories of calls of every API, relayed and translated: their events keep the laws, say
 * what the callers were answered, and agree with the records and the balances.
 */
import { expect, it } from 'vitest';
import { courseTypes, inProcess, runMany } from './history.ts';

it('the events keep the laws, and agree with what was recorded and charged', async () => {
  const met = await runMany(inProcess, { numRuns: 25, maxLength: 30 });

  expect([...met]).toEqual(expect.arrayContaining([...courseTypes]));
});
