// suite: slow
/**
 * Streams of Web responses, and callers that leave: at every moment of a call, in every way that a
 * server may show it.
 */
import { setImmediate as turn } from 'node:timers/promises';
import { fetchAdapter } from 'tollgate/fetch';
import { describe, expect, it } from 'vitest';
import { scriptedGateway } from '../../../src/testing/contracts/adapter.ts';
import {
  callerSecret,
  gatewayInProcess,
  type InProcessGateway,
} from '../../support/gateway-in-process.ts';
import { events, headersOf, replies, streamBeginnings } from '../../support/models.ts';
import { scriptedUpstream } from '../../support/scripted-upstream.ts';

const chatUrl = 'https://app.example/v1/chat/completions';
const headers = { authorization: `Bearer ${callerSecret}`, 'content-type': 'application/json' };
const streamedChat = '{"model":"chat","messages":[{"role":"user","content":"hi"}],"stream":true}';
const decoder = new TextDecoder();

/** How a server shows that its caller has left. */
type Leaving = 'abort' | 'cancel' | 'abort, cancel' | 'cancel, abort';
const leavings: readonly Leaving[] = ['abort', 'cancel', 'abort, cancel', 'cancel, abort'];

/** The moments of a streamed call. From `responded` on there is a body to cancel. */
const moments = [
  'before the call',
  'within its first turn',
  'before the body has arrived',
  'before the upstream answers',
  'before the first event',
  'responded',
  'reading',
  'one event read',
  'an event unread',
  'everything unread',
  'everything read',
] as const;
type Moment = (typeof moments)[number];

const cases = moments.flatMap((moment, index) =>
  leavings
    .filter((how) => index >= moments.indexOf('responded') || how === 'abort')
    .map((how) => ({ moment, how })),
);

describe('a caller that leaves', () => {
  it.each(cases)('$moment, by $how, is charged once and holds nothing', async (leaving) => {
    const gateway = gatewayInProcess();

    await untilLeft(gateway, leaving);

    const upstreamCall = gateway.upstream.calls[0];
    if (upstreamCall !== undefined) {
      // More than is read after a disconnect for the sake of the usage.
      upstreamCall.write(`: ${'-'.repeat(70_000)}\n\n`);
      await gateway.ended(1);
    }
    await gateway.gateway.close();
    const { held, used, inFlight } = await gateway.state();
    expect({ held, inFlight }).toEqual({ held: 0n, inFlight: 0 });
    expect(gateway.records.length).toBe(upstreamCall === undefined ? 0 : 1);
    expect(used).toBe(gateway.records[0]?.chargeNanos ?? 0n);
    const isComplete = leaving.moment.startsWith('everything');
    if (upstreamCall !== undefined) {
      expect(gateway.records[0]?.outcome).toBe(isComplete ? 'complete' : 'caller_left');
      expect(upstreamCall.abortReason === undefined).toBe(isComplete);
    }
  });
});

/** Makes the call up to the moment, and leaves. */
async function untilLeft(
  { gateway, upstream }: InProcessGateway,
  leaving: { readonly moment: Moment; readonly how: Leaving },
): Promise<void> {
  const left = new AbortController();
  let reader: ReadableStreamDefaultReader<Uint8Array> | undefined;
  let isGone = false;
  const at = (moment: Moment): boolean => {
    if (moment !== leaving.moment) return isGone;
    isGone = true;
    for (const how of leaving.how.split(', ')) {
      if (how === 'abort') left.abort();
      else void reader?.cancel();
    }
    return true;
  };

  at('before the call');
  let finishBody = (): void => {};
  const body = new ReadableStream<Uint8Array>({
    start: (controller) => {
      controller.enqueue(Buffer.from(streamedChat.slice(0, 20)));
      finishBody = () => {
        controller.enqueue(Buffer.from(streamedChat.slice(20)));
        controller.close();
      };
    },
  });
  const { signal } = left;
  const init = { method: 'POST', headers, body, signal, duplex: 'half' } as const;
  const answered = fetchAdapter(gateway)(new Request(chatUrl, init));
  if (at('within its first turn')) return void (await answered);
  for (let turns = 0; turns < 5; turns += 1) await turn();
  if (at('before the body has arrived')) return void (await answered);
  finishBody();
  const call = await upstream.next();
  if (at('before the upstream answers')) return void (await answered);
  call.respond(200, headersOf('chatStream'));
  await turn();
  if (at('before the first event')) return void (await answered);
  call.write(streamBeginnings.chatStream);
  const response = await answered;
  expect(response.status).toBe(200);
  reader = response.body?.getReader();
  if (at('responded')) return;
  const first = reader?.read();
  if (at('reading')) return void (await first?.catch(() => {}));
  expect(decoder.decode((await first)?.value)).toBe(streamBeginnings.chatStream);
  if (at('one event read')) return;
  call.write(streamBeginnings.chatStream);
  await turn();
  if (at('an event unread')) return;
  call.write(replies.chatStream);
  call.end();
  await turn();
  if (at('everything unread')) return;
  while (!(await reader?.read())?.done);
  at('everything read');
}

describe('a streamed reply', () => {
  it('is read from the upstream no faster than by its reader', async () => {
    let written = 0;
    const upstream = scriptedUpstream({
      headers: headersOf('chatStream'),
      chunks: (function* flood() {
        const content = 'x'.repeat(10_000);
        for (;;) {
          written += 1;
          yield events({ choices: [{ index: 0, delta: { content } }] });
        }
      })(),
    });
    const { gateway } = gatewayInProcess({ options: { upstream } });
    const response = await fetchAdapter(gateway)(
      new Request(chatUrl, { method: 'POST', headers, body: streamedChat }),
    );
    const reader = response.body?.getReader();
    const settled = async (): Promise<number> => {
      for (let turns = 0; turns < 500; turns += 1) await turn();
      return written;
    };

    const unread = await settled();
    let readBytes = 0;
    while (readBytes < 1_000_000) readBytes += (await reader?.read())?.value?.length ?? 0;
    const after = await settled();
    await reader?.cancel();
    // A little more is read after a disconnect, for the usage.
    while (upstream.aborted === 0) await turn();

    // Buffers of two streams, and one turn's worth of chunks.
    expect(unread).toBeLessThan(30);
    expect(after).toBeLessThan(unread + 130);
  });

  it('that the host neither reads nor cancels ends like that of a stalled caller', async () => {
    const content = 'x'.repeat(10_000);
    const text = events({ choices: [{ index: 0, delta: { content } }] });
    const upstream = scriptedUpstream({
      headers: headersOf('chatStream'),
      chunks: (function* flood() {
        for (;;) yield text;
      })(),
    });
    const harness = gatewayInProcess({ options: { upstream } });
    await fetchAdapter(harness.gateway)(
      new Request(chatUrl, { method: 'POST', headers, body: streamedChat }),
    );

    while (harness.records.length === 0) {
      await turn();
      harness.clock.advance(1_000);
    }

    expect(harness.records).toMatchObject([{ status: 499, reason: 'caller_stalled' }]);
    expect(await harness.state()).toMatchObject({ held: 0n, inFlight: 0 });
    expect(upstream.aborted).toBe(1);
  });

  it('that is cut fails, after any number of events', async () => {
    for (let count = 0; count < 6; count += 1) {
      const gateway = scriptedGateway();
      const response = await fetchAdapter(gateway)(
        new Request('https://app.example/v1/stream', { method: 'POST', body: '{}' }),
      );
      for (let event = 0; event < count; event += 1) gateway.reply.write(`data: ${event}\n\n`);
      if (count % 2 === 0) await turn();

      gateway.reply.destroy(new Error('the upstream broke off'));

      await expect(response.text()).rejects.toThrow('The reply was cut.');
      expect(gateway.disconnects()).toBe(0);
    }
  });

  it('ends without an error, read at any speed', async () => {
    for (let pause = 0; pause < 6; pause += 1) {
      const gateway = scriptedGateway();
      const response = await fetchAdapter(gateway)(
        new Request('https://app.example/v1/stream', { method: 'POST', body: '{}' }),
      );
      for (let event = 0; event < 5; event += 1) gateway.reply.write(`data: ${event}\n\n`);
      gateway.reply.end();
      const parts: Uint8Array[] = [];
      for await (const part of response.body ?? []) {
        parts.push(part);
        for (let turns = 0; turns < pause; turns += 1) await turn();
      }

      expect(Buffer.concat(parts).toString()).toBe(
        [0, 1, 2, 3, 4].map((event) => `data: ${event}\n\n`).join(''),
      );
      expect(gateway.disconnects()).toBe(0);
    }
  });

  // A stream that is destroyed may still emit what it had scheduled.
  it('can be cancelled and aborted between any two steps of its delivery', async () => {
    for (let ticks = 0; ticks < 40; ticks += 1) {
      const gateway = scriptedGateway();
      const left = new AbortController();
      const response = await fetchAdapter(gateway)(
        new Request('https://app.example/v1/stream', {
          method: 'POST',
          body: '{}',
          signal: left.signal,
        }),
      );
      gateway.reply.write('data: 1\n\n');
      gateway.reply.end('data: 2\n\n');
      const reader = response.body?.getReader();
      const reads = [reader?.read(), reader?.read(), reader?.read()];
      for (const read of reads) read?.catch(() => {});
      for (let tick = 0; tick < ticks; tick += 1) {
        await (tick % 3 === 0 ? new Promise<void>((next) => process.nextTick(next)) : undefined);
      }

      if (ticks % 2 === 0) left.abort();
      else await reader?.cancel();

      await Promise.allSettled(reads);
      await turn();
      expect(gateway.reply.destroyed).toBe(true);
      expect(gateway.disconnects()).toBeLessThanOrEqual(1);
    }
  });

  it('is stopped by a server that only aborts the signal, and then fails', async () => {
    const gateway = scriptedGateway();
    const left = new AbortController();
    const response = await fetchAdapter(gateway)(
      new Request('https://app.example/v1/stream', {
        method: 'POST',
        body: '{}',
        signal: left.signal,
      }),
    );

    left.abort();

    await expect(response.text()).rejects.toMatchObject({ name: 'AbortError' });
    expect([gateway.disconnects(), gateway.reply.destroyed]).toEqual([1, true]);
  });
});

describe('the signal of a request', () => {
  it('has no listener left once the request has been answered', async () => {
    const replyPaths = ['/v1/echo', '/v1/refused', '/v1/stream', '/v1/stream cancelled'];
    for (const path of replyPaths) {
      const gateway = scriptedGateway();
      const [url = '', isCancelled] = path.split(' ');
      const request = new Request(`https://app.example${url}`, { method: 'POST', body: '{}' });
      let listening = 0;
      const { signal } = request;
      const [add, remove] = [signal.addEventListener, signal.removeEventListener];
      signal.addEventListener = (...args: Parameters<typeof add>) => {
        listening += 1;
        return add.apply(signal, args);
      };
      signal.removeEventListener = (...args: Parameters<typeof remove>) => {
        listening -= 1;
        return remove.apply(signal, args);
      };
      const response = await fetchAdapter(gateway)(request);
      if (url === '/v1/stream') expect(listening).toBe(1);

      gateway.reply.end('data: 1\n\n');
      if (isCancelled) await response.body?.cancel();
      else await response.text();

      expect([path, listening]).toEqual([path, 0]);
    }
  });

  it('that is aborted after the reply is not a disconnect', async () => {
    const gateway = scriptedGateway();
    const left = new AbortController();
    const { signal } = left;
    const init = { method: 'POST', body: '{}', signal } as const;
    const handler = fetchAdapter(gateway);
    await (await handler(new Request('https://app.example/v1/echo', init))).text();
    const streamed = await handler(new Request('https://app.example/v1/stream', init));
    gateway.reply.end('data: 1\n\n');
    await streamed.text();

    left.abort();

    expect(gateway.disconnects()).toBe(0);
  });

  it('that is aborted before the reply drops the reply', async () => {
    const gateway = scriptedGateway();
    const left = new AbortController();
    const { signal } = left;
    const init = { method: 'POST', body: '{}', signal } as const;
    const answered = fetchAdapter(gateway)(new Request('https://app.example/v1/silent', init));
    await gateway.received;

    left.abort();
    await gateway.disconnected;
    gateway.answer();

    expect((await answered).status).toBe(499);
    expect([gateway.disconnects(), gateway.reply.destroyed]).toEqual([1, true]);
  });
});
