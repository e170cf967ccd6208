/**
 * Random histories of calls of every API, relayed and translated: their events keep the laws, say
 * what the callers were answered, and agree with the records and the balances.
 */
import { it } from 'vitest';
import { inProcess, runMany } from './history.ts';

it('keep the laws, and agree with what was recorded and charged', () =>
  runMany(inProcess, { numRuns: 25, maxLength: 30 }));
