// suite: quick host
/** A few histories like those of `histories.test.ts`, over HTTP through each host. */
import { expect, it } from 'vitest';
import { runMany } from './history.ts';
import { hosts, mountedEntrance } from './mounted-entrance.ts';

it.each(hosts)('the events keep the laws behind $name', async (host) => {
  const met = await runMany(mountedEntrance(host), { numRuns: 2, maxLength: 20 });

  expect(met).toContain('call_ended');
});
