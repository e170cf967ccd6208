// suite: quick runtime
/**
 * A host's own upstream client may throw or ignore an abort: no call hangs, and the process does
 * not exit.
 */
import { describe, expect, it } from 'vitest';
import type { UpstreamClient, UpstreamResponse } from '../../../src/ports/upstream-client.ts';
import { gate } from '../../../src/testing/providers/scripts.ts';
import { gatewayInProcess, untouched } from '../../support/gateway-in-process.ts';
import {
  defaultModels,
  headersOf,
  heldNanos,
  model,
  sampleRequests,
  streamBeginnings,
} from '../../support/models.ts';
import { pass, turns } from '../ports/failing.ts';

/** A client with this `send`; `close` does nothing. */
function clientOf(send: UpstreamClient['send']): UpstreamClient {
  return { send, close: async () => {} };
}

/** Never replies, and throws when it is aborted. */
const throwing = clientOf(
  ({ onAbort }) =>
    new Promise(() => {
      onAbort(() => {
        throw new Error('the abort of a host failed');
      });
    }),
);

describe('a client that throws when its call is ended', () => {
  it('does not throw at the caller that disconnects', async () => {
    const { start, nextRecord, state } = gatewayInProcess({ options: { upstream: throwing } });
    const calling = start(sampleRequests.chat);
    await turns();

    calling.disconnect();
    await calling.reply;

    expect(await nextRecord()).toMatchObject({ status: 499, reason: 'caller_left' });
    expect(await state()).toEqual({ ...untouched, used: 11n });
  });

  it('does not keep the leases of other calls from being renewed', async () => {
    const brief = model({ timeouts: { totalMs: 5_000 } });
    const { start, clock, state } = gatewayInProcess({
      models: [brief, ...defaultModels().slice(1)],
      options: { upstream: throwing, leaseMs: 6_000 },
    });
    const calling = start(sampleRequests.chat);
    start(sampleRequests.native);
    await turns();

    await pass(clock, 60_000);

    expect((await calling.reply).status).toBe(504);
    expect(await state()).toEqual({ held: heldNanos.native, used: 0n, inFlight: 1 });
  });
});

it('headers that a client modifies for one call are not sent with the next', async () => {
  const seen: (string | undefined)[] = [];
  const marking = clientOf(async ({ headers }) => {
    seen.push(headers['x-call']);
    Reflect.set(headers, 'x-call', 'first');
    throw new Error('not to be reached');
  });
  const { call } = gatewayInProcess({ options: { upstream: marking } });

  await call(sampleRequests.chat);
  await call(sampleRequests.chat);

  expect(seen).toEqual([undefined, undefined]);
});

describe('a client that ignores an abort', () => {
  it('keeps no call past its total time, and a later response is aborted', async () => {
    const late = gate();
    const given = gate();
    const { start, clock, nextRecord, state } = gatewayInProcess({
      options: {
        upstream: clientOf(async () => {
          await late.opened;
          return response({ abort: given.open });
        }),
      },
    });
    const calling = start(sampleRequests.chat);
    await turns();

    clock.advance(900_000);
    const { status } = await calling.reply;
    late.open();
    await given.opened;

    expect(status).toBe(504);
    expect(await nextRecord()).toMatchObject({ outcome: 'unknown', reason: 'total_timeout' });
    expect(await state()).toEqual(untouched);
  });

  it('keeps no stream past its total time either', async () => {
    let aborts = 0;
    const { start, clock, nextRecord } = gatewayInProcess({
      options: {
        upstream: clientOf(async () =>
          response({
            abort: () => {
              aborts += 1;
            },
          }),
        ),
      },
    });
    const calling = start(sampleRequests.chatStream);
    await calling.firstBytes;

    clock.advance(900_000);
    const { text } = await calling.reply;

    expect(text).toMatch(/did not answer in time/);
    expect(await nextRecord()).toMatchObject({ outcome: 'cut', reason: 'total_timeout' });
    expect(aborts).toBe(1);
  });

  it('is not called any more once its call has been aborted', async () => {
    const received = gate();
    const answered = gate();
    const { start, upstream, gateway, clock, nextRecord } = gatewayInProcess({
      store: (quota) => ({
        reserve: async (input) => {
          received.open();
          await answered.opened;
          return quota.reserve(input);
        },
      }),
    });
    const calling = start(sampleRequests.chat);
    await received.opened;

    const closed = gateway.close({ drainMs: 500 });
    clock.advance(500);
    await turns();
    answered.open();
    await closed;

    expect((await calling.reply).status).toBe(503);
    expect(await nextRecord()).toMatchObject({ outcome: 'not_run', reason: 'draining' });
    expect(upstream.calls).toEqual([]);
  });
});

it.each([
  [
    'throws',
    () => {
      throw new Error('no such socket');
    },
  ],
  ['rejects', () => Promise.reject(new Error('no such socket'))],
])('a client whose close %s does not keep the gateway from closing', async (_how, close) => {
  const { gateway } = gatewayInProcess({ options: { upstream: { send: throwing.send, close } } });

  await expect(gateway.close()).resolves.toBeUndefined();
});

/** A stream that begins and never continues. */
function response({ abort }: { readonly abort: () => void }): UpstreamResponse {
  return {
    status: 200,
    headers: headersOf('chatStream'),
    body: {
      takeWhole: () => undefined,
      start: (sink) => sink.write(Buffer.from(streamBeginnings.chatStream)),
      pause: () => {},
      resume: () => {},
      abort,
    },
  };
}
