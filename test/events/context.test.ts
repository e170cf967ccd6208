// suite: quick host
/** Listeners run in the asynchronous context of the request that an event belongs to. */
import { AsyncLocalStorage } from 'node:async_hooks';
import { expect, it } from 'vitest';
import type { GatewayEvent } from '../../src/events/events.ts';
import { pass } from '../stages/ports/failing.ts';
import { type GatewaySetup, gatewayInProcess } from '../support/gateway-in-process.ts';
import {
  completeReply,
  kinds,
  replies,
  sampleRequests,
  streamBeginnings,
} from '../support/models.ts';

it.each(
  kinds,
)('a call for %s keeps its context, though the reply arrives in another', async (kind) => {
  const host = new AsyncLocalStorage<string>();
  const harness = gatewayInProcess();
  const seen: (readonly [string | undefined, GatewayEvent['type']])[] = [];
  const stop = harness.gateway.subscribe(({ type }) => seen.push([host.getStore(), type]));

  const running = host.run('request', () => harness.start(sampleRequests[kind]));
  const call = await harness.upstream.next();
  const isStream = kind.endsWith('Stream');
  const headers = { 'content-type': isStream ? 'text/event-stream' : 'application/json' };
  const inSocket = (work: () => void): void => host.run('socket', work);
  inSocket(() => call.respond(200, headers));
  // The end of a stream is handled in the turn of its last chunk.
  const firstEnd = replies[kind].indexOf('\n\n') + 2;
  if (isStream) {
    inSocket(() => call.write(replies[kind].slice(0, firstEnd)));
    await running.firstBytes;
  }
  inSocket(() => {
    call.write(isStream ? replies[kind].slice(firstEnd) : replies[kind]);
    call.end();
  });
  await running.reply;
  await harness.ended(1);
  stop();

  expect(seen.filter(([context]) => context !== 'request')).toEqual([]);
  expect(seen.map(([, type]) => type)).toEqual(
    expect.arrayContaining(['call_started', 'attempt_ended', 'call_ended']),
  );
});

const down = (): never => {
  throw new Error('down');
};
const stream = { 'content-type': 'text/event-stream' };
const firstPart: NonNullable<GatewaySetup['handlers']>[number] = (up) => {
  up.respond(200, stream);
  up.write(streamBeginnings.chatStream);
};

/** Events that the gateway's timer gives, long after the request. */
const late: readonly {
  readonly type: GatewayEvent['type'];
  readonly setup: GatewaySetup;
  readonly afterMs: number;
}[] = [
  {
    type: 'settlement_lost',
    setup: { handlers: [completeReply('chatStream')], store: () => ({ settle: down }) },
    afterMs: 17 * 60_000,
  },
  {
    type: 'hold_lapsed',
    setup: {
      handlers: [firstPart],
      store: () => ({ extend: (inputs) => inputs.map(() => ({ status: 'gone', as: 'expired' })) }),
    },
    afterMs: 60_000,
  },
  {
    type: 'call_ended',
    setup: { handlers: [firstPart] },
    afterMs: 15 * 60_000,
  },
];

it.each(late)('$type has the context of its request long after it', async ({
  type,
  setup,
  afterMs,
}) => {
  const host = new AsyncLocalStorage<string>();
  const harness = gatewayInProcess(setup);
  const seen: (readonly [string | undefined, GatewayEvent['type']])[] = [];
  harness.gateway.subscribe((event) => {
    // The health of a channel belongs to no request.
    if (event.type !== 'channel_changed') seen.push([host.getStore(), event.type]);
  });

  const calling = host.run('request', () => harness.start(sampleRequests.chatStream));
  await calling.firstBytes;
  await host.run('timer', () => pass(harness.clock, afterMs));

  expect(seen.map(([, one]) => one)).toContain(type);
  expect(seen.filter(([context]) => context !== 'request')).toEqual([]);
});
