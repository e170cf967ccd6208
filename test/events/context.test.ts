/** Listeners run in the asynchronous context of the request that an event belongs to. */
import { AsyncLocalStorage } from 'node:async_hooks';
import { expect, it } from 'vitest';
import type { GatewayEvent } from '../../src/events.ts';
import { gatewayInProcess } from '../support/gateway-in-process.ts';
import { kinds, replies, sampleRequests } from '../support/models.ts';

it.each(kinds)('of %s, though the reply arrives in that of another', async (kind) => {
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
