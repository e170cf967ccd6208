// suite: quick
/** Two gateways over one store: a call that runs in one of them is awaited in the other. */
import { describe, expect, it } from 'vitest';
import { completeReply, image, replies, sampleRequests } from '../../support/models.ts';
import { inTime, pass, turns } from '../ports/failing.ts';
import { codeOf, costs, keyed, keyedKinds, sharedStores } from './idempotent-calls.ts';

describe.each(keyedKinds)('%s that runs in another gateway', (kind) => {
  it('is replayed here when it is done, and charged once', async () => {
    const stores = sharedStores();
    const [here, there] = [stores.gateway(), stores.gateway()];
    const first = there.start(keyed(sampleRequests[kind]));
    const up = await there.upstream.next();
    const waiting = [
      here.start(keyed(sampleRequests[kind])),
      here.start(keyed(sampleRequests[kind])),
    ];
    await pass(stores.clock, 20_000);

    completeReply(kind)(up);
    const original = (await first.reply).headers['x-request-id'];
    await turns();
    const answers = await inTime(stores.clock, Promise.all(waiting.map(({ reply }) => reply)));

    for (const { status, text, headers } of answers) {
      expect([status, text]).toEqual([200, replies[kind]]);
      expect(headers['original-request']).toBe(original);
    }
    expect(here.upstream.calls).toEqual([]);
    expect(here.records).toEqual([]);
    expect(await stores.used()).toBe(costs[kind]);
  });

  it('is polled at growing intervals, and finally refused with a time to wait', async () => {
    const stores = sharedStores();
    const looks: number[] = [];
    const { idempotency } = stores.options;
    const there = stores.gateway();
    const here = stores.gateway({
      options: {
        timeouts: { firstByteMs: 60_000 },
        idempotency: {
          ...idempotency,
          claim: (input) => {
            looks.push(stores.clock.monotonicMs());
            return idempotency.claim(input);
          },
        },
      },
    });
    void there.start(keyed(sampleRequests[kind])).reply;
    await there.upstream.next();

    const calling = here.start(keyed(sampleRequests[kind])).reply;
    await turns();
    await stepwise(stores.clock, 59_750);
    // If nobody were waiting any more, this call would get a reply.
    expect(await Promise.race([calling, turns()])).toBeUndefined();
    await stepwise(stores.clock, 250);
    const { status, text, headers } = await calling;

    expect([status, codeOf(text)]).toEqual([409, 'idempotency_in_progress']);
    expect(headers['retry-after']).toBe('5');
    expect(headers).not.toHaveProperty('x-should-retry');
    expect(looks.slice(0, 8)).toEqual([0, 250, 750, 1_750, 3_750, 7_750, 12_750, 17_750]);
    expect(looks.slice(-2)).toEqual([57_750, 60_000]);
    expect(here.upstream.calls).toEqual([]);
  });

  it('runs here if it certainly did not run there', async () => {
    const stores = sharedStores();
    const [here, there] = [stores.gateway({ handlers: [completeReply(kind)] }), stores.gateway()];
    const first = there.start(keyed(sampleRequests[kind]));
    const up = await there.upstream.next();
    const second = here.start(keyed(sampleRequests[kind]));
    await turns();

    up.answer(429, { error: { message: 'Slow down.' } });
    expect((await first.reply).status).toBe(429);

    expect((await inTime(stores.clock, second.reply)).text).toBe(replies[kind]);
    expect(await stores.used()).toBe(costs[kind]);
  });
});

it('a call whose key is running elsewhere with another body is refused immediately', async () => {
  const stores = sharedStores();
  const [here, there] = [stores.gateway(), stores.gateway()];
  void there.start(keyed(sampleRequests.image)).reply;
  await there.upstream.next();

  expect((await here.call(keyed(image({ n: 2 })))).status).toBe(422);
});

it('a caller that waits for another gateway may disconnect, and holds nothing', async () => {
  const stores = sharedStores();
  const [here, there] = [stores.gateway({ handlers: [completeReply('chat')] }), stores.gateway()];
  const first = there.start(keyed(sampleRequests.chat));
  const up = await there.upstream.next();
  const disconnecting = here.start(keyed(sampleRequests.chat));
  const staying = here.start(keyed(sampleRequests.chat));
  await turns();
  expect(await here.state()).toMatchObject({ inFlight: 0 });

  disconnecting.disconnect();
  await disconnecting.reply;
  completeReply('chat')(up);
  await first.reply;

  expect((await inTime(stores.clock, staying.reply)).text).toBe(replies.chat);
  expect(here.upstream.calls).toEqual([]);
  expect(here.eventTypes()).toEqual([]);
});

it('a gateway that closes does not keep waiting callers', async () => {
  const stores = sharedStores();
  const [here, there] = [stores.gateway(), stores.gateway()];
  void there.start(keyed(sampleRequests.chat)).reply;
  await there.upstream.next();
  const waiting = here.start(keyed(sampleRequests.chat));
  await turns();

  const closed = here.gateway.close({ drainMs: 1_000 });
  await inTime(stores.clock, closed);
  const { status, text } = await waiting.reply;

  expect([status, codeOf(text)]).toEqual([503, 'draining']);
});

/** Advances the clock in steps that are short enough for every poll. */
async function stepwise(clock: { advance(ms: number): void }, ms: number): Promise<void> {
  for (let passed = 0; passed < ms; passed += 250) {
    clock.advance(250);
    await turns();
  }
}
