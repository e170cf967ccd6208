// suite: search
/** More and longer histories than `histories.test.ts` and `mounted-histories.test.ts` have. */
import { expect, it } from 'vitest';
import { courseTypes, inProcess, runMany } from './history.ts';
import { hosts, mountedEntrance } from './mounted-entrance.ts';

const numRuns = process.env.TEST_FORM === 'full' ? 2_000 : 300;

it('the events keep the laws, and agree with what was recorded and charged', async () => {
  const met = await runMany(inProcess, { numRuns, maxLength: 60 });

  expect([...met]).toEqual(expect.arrayContaining([...courseTypes]));
});

it.each(hosts)('the events keep the laws behind $name too', async (host) => {
  const met = await runMany(mountedEntrance(host), { numRuns: numRuns / 10, maxLength: 40 });

  expect([...met]).toEqual(expect.arrayContaining(['call_refused', 'call_ended', 'first_byte']));
});
