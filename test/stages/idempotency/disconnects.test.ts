// suite: slow
/**
 * Callers with an `Idempotency-Key` that disconnect: their call continues, because they will repeat
 * it.
 */
import { once } from 'node:events';
import { Writable } from 'node:stream';
import { describe, expect, it } from 'vitest';
import type { Gateway } from '../../../src/gateway.ts';
import type { ReplyBody } from '../../../src/http.ts';
import type { Channel, Model } from '../../../src/ports/models/catalog.ts';
import { memoryResultStore } from '../../../src/stores/memory/result-store.ts';
import { gate } from '../../../src/testing/providers/scripts.ts';
import type { DrivenUpstream } from '../../support/driven-upstream.ts';
import { gatewayInProcess, untouched } from '../../support/gateway-in-process.ts';
import {
  channel,
  completeReply,
  headersOf,
  model,
  replies,
  sampleRequests,
} from '../../support/models.ts';
import { turns } from '../ports/failing.ts';
import { codeOf, costs, keyed, keyedKinds, sharedStores } from './idempotent-calls.ts';

describe.each(keyedKinds)('%s whose caller disconnected', (kind) => {
  it('before the upstream replied runs to its end, and is kept for the retry', async () => {
    const { start, call, upstream, state, nextRecord } = gatewayInProcess();
    const disconnecting = start(keyed(sampleRequests[kind]));
    const up = await upstream.next();

    disconnecting.disconnect();
    const retry = start(keyed(sampleRequests[kind]));
    await turns();
    expect(up.abortReason).toBeUndefined();
    completeReply(kind)(up);

    expect((await retry.reply).text).toBe(replies[kind]);
    expect((await call(keyed(sampleRequests[kind]))).text).toBe(replies[kind]);
    expect(await nextRecord()).toMatchObject({ outcome: 'complete', chargeNanos: costs[kind] });
    expect(upstream.calls).toHaveLength(1);
    expect(await state()).toEqual({ held: 0n, used: costs[kind], inFlight: 0 });
  });

  it('in the middle of a long reply is kept completely', async () => {
    const { start, call, upstream, state } = gatewayInProcess();
    const [begin, rest, end] = longReplies[kind];
    const disconnecting = start(keyed(sampleRequests[kind]));
    const up = await upstream.next();
    up.respond(200, headersOf(kind));
    up.write(begin);
    await disconnecting.firstBytes;

    disconnecting.disconnect();
    up.write(rest);
    up.write(end);
    up.end();
    await turns();

    expect((await call(keyed(sampleRequests[kind]))).text).toBe(begin + rest + end);
    expect(upstream.calls).toHaveLength(1);
    expect(await state()).toEqual({ held: 0n, used: costs[kind], inFlight: 0 });
  });

  it('before anything was sent runs nothing, and a waiting caller runs it', async () => {
    const received = gate();
    const answered = gate();
    const stores = sharedStores();
    const { quota } = stores.options;
    const { start, upstream } = stores.gateway({
      options: {
        quota: {
          ...quota,
          reserve: async (input) => {
            received.open();
            await answered.opened;
            return quota.reserve(input);
          },
        },
      },
      handlers: [completeReply(kind)],
    });
    const disconnecting = start(keyed(sampleRequests[kind]));
    await received.opened;
    const waiting = start(keyed(sampleRequests[kind]));
    await turns();

    disconnecting.disconnect();
    answered.open();

    expect((await waiting.reply).text).toBe(replies[kind]);
    expect((await waiting.reply).headers).not.toHaveProperty('idempotent-replayed');
    expect(upstream.calls).toHaveLength(1);
    expect(await stores.used()).toBe(costs[kind]);
  });
});

it('a waiting caller may disconnect, and the call and the other callers stay', async () => {
  const { start, upstream, gateway } = gatewayInProcess();
  const first = start(keyed(sampleRequests.chat));
  const up = await upstream.next();
  const [disconnecting, staying] = [
    start(keyed(sampleRequests.chat)),
    start(keyed(sampleRequests.chat)),
  ];
  await turns();

  disconnecting.disconnect();
  await disconnecting.reply;
  completeReply('chat')(up);

  expect((await first.reply).text).toBe(replies.chat);
  expect((await staying.reply).text).toBe(replies.chat);
  // Nothing is running any more, or this would wait.
  await gateway.close();
});

it('without a key a chat whose caller disconnected is aborted as usual', async () => {
  const { start, upstream, state, nextRecord } = gatewayInProcess();
  const disconnecting = start(sampleRequests.chat);
  const up = await upstream.next();

  disconnecting.disconnect();

  expect(await up.aborted).toBe('caller_left');
  expect(await nextRecord()).toMatchObject({ status: 499 });
  expect(await state()).toEqual({ ...untouched, used: 11n });
});

it('a streamed image of 1 MiB is replayed byte for byte, even from odd chunks', async () => {
  const { start, call, upstream, state } = gatewayInProcess();
  const reply = `{"created":1,"data":[{"b64_json":"${'QUJD'.repeat(2 ** 18)}"}]}`;
  const calling = start(keyed(sampleRequests.image));
  const up = await upstream.next();
  const waiting = start(keyed(sampleRequests.image));
  up.respond(200, headersOf('image'));
  for (let at = 0, size = 1; at < reply.length; at += size, size = ((size * 7) % 65_521) + 1) {
    up.write(reply.slice(at, at + size));
    await Promise.resolve();
  }
  up.end();

  expect((await calling.reply).text).toBe(reply);
  expect((await waiting.reply).text).toBe(reply);
  await turns();
  expect((await call(keyed(sampleRequests.image))).text).toBe(reply);
  expect(upstream.calls).toHaveLength(1);
  expect(await state()).toEqual({ held: 0n, used: 500n, inFlight: 0 });
});

it('a reply too large for the memory of copies is sent and charged, but not kept', async () => {
  // The store could keep all of it; the bound is on the copies.
  const results = memoryResultStore({ maxBytes: 2 ** 30 });
  const { start, call, gateway, upstream, state } = gatewayInProcess({ options: { results } });
  const { body } = await answeredInPart(gateway, upstream);
  const sent = discarding();
  body.sendTo(sent.out);
  const up = upstream.calls[0];
  const piece = Buffer.alloc(2 ** 20, 'A');
  for (let count = 0; count < 65; count += 1) {
    up?.write(piece);
    await turns();
  }
  up?.write('"}]}');
  up?.end();
  await sent.ended;
  await turns();

  const second = await call(keyed(sampleRequests.image));

  expect(sent.bytes()).toBe(65 * 2 ** 20 + 2 ** 16 + 26);
  expect([second.status, codeOf(second.text)]).toEqual([409, 'result_expired']);
  expect(upstream.calls).toHaveLength(1);
  expect(await state()).toEqual({ held: 0n, used: 500n, inFlight: 0 });

  // Its memory is released.
  const another = start(keyed(sampleRequests.image, 'k2'));
  const reply = JSON.stringify({ data: [{ b64_json: 'A'.repeat(2 ** 21) }] });
  (await upstream.next()).answer(200, reply);
  await another.reply;
  await turns();
  expect((await call(keyed(sampleRequests.image, 'k2'))).text).toBe(reply);
});

it('the memory of a copy is released when its call is done', async () => {
  const { start, call, upstream } = gatewayInProcess();
  const reply = JSON.stringify({ data: [{ b64_json: 'A'.repeat(15 * 2 ** 20) }] });
  for (const key of ['k1', 'k2', 'k3', 'k4', 'k5']) {
    const calling = start(keyed(sampleRequests.image, key));
    (await upstream.next()).answer(200, reply);
    await calling.reply;
    await turns();
  }

  const { status, text } = await call(keyed(sampleRequests.image, 'k5'));

  expect([status, text === reply]).toEqual([200, true]);
});

it('an image that is translated as it streams is replayed with its end', async () => {
  const gemini = channel({ dialect: 'gemini', baseUrl: 'https://gemini.example/v1beta' });
  const { call } = gatewayInProcess({
    models: [imageModel(gemini)],
    handlers: [(up) => up.answer(200, geminiImage)],
  });
  const first = await call(keyed(sampleRequests.image));
  await turns();

  const second = await call(keyed(sampleRequests.image));

  expect(JSON.parse(first.text).data[0].b64_json).toHaveLength(2 ** 18);
  expect(second.text).toBe(first.text);
  expect(second.headers['idempotent-replayed']).toBe('true');
});

/** An image model with another channel. */
function imageModel(behind: Channel): Model {
  const price = { per: 'image', rows: [{ size: '1024x1024', nanos: 500n }] } as const;
  return model({ id: 'image', protocols: ['images'], price, channels: [behind] });
}

const geminiImage = {
  candidates: [
    {
      content: {
        role: 'model',
        parts: [{ inlineData: { mimeType: 'image/png', data: 'A'.repeat(2 ** 18) } }],
      },
      finishReason: 'STOP',
    },
  ],
  usageMetadata: { promptTokenCount: 10, candidatesTokenCount: 1290, totalTokenCount: 1300 },
};

/** The beginning of a streamed image whose caller does not read yet. */
async function answeredInPart(
  gateway: Gateway,
  upstream: DrivenUpstream,
): Promise<{ readonly body: ReplyBody }> {
  const headers = { authorization: 'Bearer caller-secret', 'idempotency-key': 'k1' };
  const answer = gateway.handle({
    method: 'POST',
    path: sampleRequests.image.path,
    search: '',
    headers,
    rawHeaders: Object.entries(headers).flat(),
    body: Buffer.from(JSON.stringify(sampleRequests.image.body)),
    onClose: () => {},
  });
  const up = await upstream.next();
  up.respond(200, headersOf('image'));
  up.write('{"data":[{"b64_json":"');
  up.write(Buffer.alloc(2 ** 16, 'A'));
  const { body } = await answer;
  if (body instanceof Uint8Array) throw new Error('The reply did not stream.');
  return { body };
}

/** Counts what is written to it, and keeps nothing. */
function discarding(): {
  readonly out: Writable;
  readonly ended: Promise<unknown>;
  bytes(): number;
} {
  let bytes = 0;
  const out = new Writable({
    write: (chunk: Buffer, _encoding, done) => {
      bytes += chunk.length;
      done();
    },
  });
  return { out, ended: once(out, 'finish'), bytes: () => bytes };
}

/** Replies too long to be buffered, in three pieces. */
const longReplies = {
  chat: [
    `{"choices":[{"index":0,"message":{"role":"assistant","content":"${'x'.repeat(70_000)}`,
    'y'.repeat(70_000),
    '"},"finish_reason":"stop"}],"usage":{"prompt_tokens":10,"completion_tokens":5}}',
  ],
  image: [`{"data":[{"b64_json":"${'A'.repeat(70_000)}`, 'B'.repeat(70_000), '"}]}'],
} as const;
