// suite: quick
/** `gateway.status()` states what runs, is held and waits in this process, and how ports answer. */
import { expect, it } from 'vitest';
import { gatewayInProcess } from '../support/gateway-in-process.ts';
import { replies, sampleRequests } from '../support/models.ts';

it('counts a call while it runs, and nothing after it', async () => {
  const harness = gatewayInProcess();
  const before = harness.gateway.status();
  const running = harness.start(sampleRequests.chat);
  const call = await harness.upstream.next();
  const during = harness.gateway.status();
  call.answer(200, JSON.parse(replies.chat));
  await running.reply;
  await harness.ended(1);
  const after = harness.gateway.status();

  expect([before, during, after].map(({ runningCalls }) => runningCalls)).toEqual([0, 1, 0]);
  expect([before, during, after].map(({ openHolds }) => openHolds)).toEqual([0, 1, 0]);
  expect([before, after].map(({ bufferedBytes }) => bufferedBytes)).toEqual([0, 0]);
  expect(after).toMatchObject({
    startedAtMs: harness.clock.now(),
    isClosing: false,
    outbox: { waiting: 0, oldestMs: undefined },
  });
  const closed = harness.gateway.close();
  expect(harness.gateway.status().isClosing).toBe(true);
  await closed;
});

it('reports how long a port takes to answer, and how often it fails', async () => {
  let finds = 0;
  const keys = {
    find: async () => {
      finds += 1;
      if (finds === 1) throw new Error('down');
      return undefined;
    },
  };
  const harness = gatewayInProcess({ options: { keys } });
  await harness.call(sampleRequests.chat);
  await harness.call(sampleRequests.chat);

  const [times] = harness.gateway.status().ports.filter(({ port }) => port === 'keys');
  expect(times).toMatchObject({ operation: 'find', calls: 2, failures: 1, sumMs: 0 });
  expect(times?.buckets.map(({ count }) => count)).toEqual(Array(12).fill(2));
});
