/** More and longer histories than `histories.test.ts` has. */
import { it } from 'vitest';
import { inProcess, runMany } from './history.ts';

const numRuns = process.env.TEST_FORM === 'full' ? 2_000 : 300;

it('keep the laws, and agree with what was recorded and charged', () =>
  runMany(inProcess, { numRuns, maxLength: 60 }));
