// suite: slow host
/** `/readyz`: what the quota store does matters only where the configuration says so. */

import { createServer } from 'node:http';
import { expect, it } from 'vitest';
import { healthHandler } from '../../../src/command/serve/serve.ts';
import { fakeClock } from '../../../src/testing/fake-clock.ts';
import { failures, inTime } from '../../stages/ports/failing.ts';
import { closed, listening } from '../../support/servers.ts';

const stores = [
  { how: 'works', check: async () => ({ ok: true as const }), isFit: true },
  {
    how: 'has problems',
    check: async () => ({ ok: false as const, problems: ['x'] }),
    isFit: false,
  },
  ...failures.map(({ how, fail }) => ({ how, check: fail, isFit: false })),
];
const cases = stores.flatMap((store) =>
  [true, false].flatMap((asked) => [true, false].map((ending) => ({ ...store, asked, ending }))),
);

it.each(cases)('a store that $how, asked: $asked, ending: $ending', async ({
  check,
  isFit,
  asked,
  ending,
}) => {
  const clock = fakeClock();
  let checks = 0;
  const counted = (): ReturnType<typeof check> => {
    checks += 1;
    return check();
  };
  const answer = healthHandler({
    ...{ quota: { check: counted }, clock },
    ...{ asksStores: () => asked, isEnding: () => ending },
  });
  const server = createServer(answer);
  const origin = await listening(server);
  const ready = await inTime(clock, fetch(`${origin}/readyz`));
  const alive = await fetch(`${origin}/healthz`);
  await closed(server);

  const isReady = !ending && (isFit || !asked);
  const reason = ending ? 'ending' : 'quota';
  expect(await ready.json()).toEqual(
    isReady ? { status: 'ready' } : { status: 'not_ready', reason },
  );
  expect([ready.status, alive.status]).toEqual([isReady ? 200 : 503, 200]);
  expect(checks).toBe(asked && !ending ? 1 : 0);
});
