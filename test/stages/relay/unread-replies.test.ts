// suite: slow
/** Whole replies that their callers read slowly or not at all: what they take, and for how long. */
import { Writable } from 'node:stream';
import { describe, expect, it } from 'vitest';
import type { GatewayOptions } from '../../../src/gateway-options.ts';
import type { GatewayResponse, ReplyBody } from '../../../src/http.ts';
import type { ApiKey } from '../../../src/ports/keys/key-store.ts';
import {
  type CallerRequest,
  gatewayInProcess,
  type InProcessGateway,
  requestOf,
} from '../../support/gateway-in-process.ts';
import { channel, defaultModels, model, replies, sampleRequests } from '../../support/models.ts';
import { pass, turns } from '../ports/failing.ts';

/** Several pieces, the last one not full. */
const text = 'x'.repeat(300_000);
const usage = { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 };
const geminiReply = {
  candidates: [{ content: { role: 'model', parts: [{ text }] }, finishReason: 'STOP' }],
  usageMetadata: { promptTokenCount: 10, candidatesTokenCount: 5, totalTokenCount: 15 },
};
const anthropicReply = {
  id: 'msg_1',
  type: 'message',
  role: 'assistant',
  model: 'm',
  content: [{ type: 'text', text }],
  stop_reason: 'end_turn',
  usage: { input_tokens: 10, output_tokens: 5 },
};
const openaiReply = {
  choices: [{ index: 0, message: { role: 'assistant', content: text }, finish_reason: 'stop' }],
  usage,
};
const keyed = { headers: { 'idempotency-key': 'k1' } };

/** A large reply that the gateway holds as a whole. */
interface Kind {
  readonly request: CallerRequest;
  readonly dialect: 'openai' | 'gemini' | 'anthropic';
  /** The upstream's reply to each call that reaches it. */
  readonly reply: unknown;
  /** The call has run before, and its reply is repeated. */
  readonly isRepeat?: true;
}

const wholeReplies: Readonly<Record<string, Kind>> = {
  'a chat over Gemini': {
    request: sampleRequests.chat,
    dialect: 'gemini',
    reply: geminiReply,
  },
  'a chat over Anthropic': {
    request: sampleRequests.chat,
    dialect: 'anthropic',
    reply: anthropicReply,
  },
  'a repeated chat': {
    request: { ...sampleRequests.chat, ...keyed },
    dialect: 'gemini',
    reply: geminiReply,
    isRepeat: true,
  },
  'a repeated chat that was relayed': {
    request: { ...sampleRequests.chat, ...keyed },
    dialect: 'openai',
    reply: openaiReply,
    isRepeat: true,
  },
  'a repeated image': {
    request: { ...sampleRequests.image, ...keyed },
    dialect: 'openai',
    reply: { created: 1, data: [{ b64_json: 'A'.repeat(300_000) }] },
    isRepeat: true,
  },
};

/** A caller that reads only when the test asks for it. */
interface Caller {
  readonly isGone: () => boolean;
  /** Reads what is waiting, which lets more come. */
  readonly read: () => Promise<void>;
  /** Everything read so far. */
  readonly received: () => string;
  /** The response has been written up to its end. */
  readonly hasAll: () => boolean;
}

const readers: Readonly<Record<string, (body: ReplyBody) => Caller>> = {
  'a response': slowWritable,
  'a stream': slowReadable,
};

const cases = Object.entries(wholeReplies).flatMap(([name, kind]) =>
  Object.entries(readers).map(([how, readBy]) => ({ name, kind, how, readBy })),
);

describe.each(cases)('$name, sent through $how', ({ kind, readBy }) => {
  it('is cut off when its caller has read nothing for callerStallMs', async () => {
    const { harness, body } = await answered(kind);
    const caller = readBy(body);

    await pass(harness.clock, 29_000);
    const before = caller.isGone();
    await pass(harness.clock, 2_000);

    expect([before, caller.isGone(), caller.hasAll()]).toEqual([false, true, false]);
  });

  it('is sent completely to a caller that reads now and then', async () => {
    const { harness, body, expected } = await answered(kind);
    const caller = readBy(body);

    for (let round = 0; round < 12; round += 1) {
      await pass(harness.clock, 20_000);
      await caller.read();
    }

    expect(caller.hasAll()).toBe(true);
    expect(caller.received()).toBe(expected);
  });

  it('is settled and charged before it is read', async () => {
    const { harness, body } = await answered(kind);
    readBy(body);
    await turns();

    const unread = [harness.records.at(-1), await harness.state()];
    await pass(harness.clock, 40_000);

    expect(unread).toMatchObject([
      { outcome: 'complete', status: 200 },
      { held: 0n, inFlight: 0 },
    ]);
    expect(harness.records).toHaveLength(1);
    expect(await harness.state()).toEqual(unread[1]);
  });

  it.each([
    ['it is cut off', async ({ clock }: InProcessGateway) => pass(clock, 31_000)],
    ['it has been read', async (_harness: InProcessGateway, caller: Caller) => readAll(caller)],
  ])('takes its place until %s', async (_when, end) => {
    const { harness, body } = await answered(kind, { options: { maxConcurrentCalls: 1 } });
    const caller = readBy(body);
    await turns();
    const whileUnread = (await harness.call(sampleRequests.native)).status;

    await end(harness, caller);
    const next = harness.start(sampleRequests.native);
    (await harness.upstream.next()).answer(200, replies.native);

    expect(whileUnread).toBe(503);
    expect((await next.reply).status).toBe(200);
  });

  it('gives up its place when it is discarded unread, as for HEAD', async () => {
    const { harness, body } = await answered(kind, { options: { maxConcurrentCalls: 1 } });

    body.readable().destroy();
    await turns();

    expect(await closesAtOnce(harness)).toBe(true);
  });

  it('gives up its place when nothing ever takes it', async () => {
    const { harness } = await answered(kind);
    const before = closesAtOnce(harness);
    await turns();

    await pass(harness.clock, 31_000);

    expect(await before).toBe(true);
  });

  it('is waited for when the gateway closes, and cut off after drainMs', async () => {
    const { harness, body } = await answered(kind);
    const caller = readBy(body);
    let isClosed = false;
    const closing = harness.gateway.close({ drainMs: 5_000 }).then(() => {
      isClosed = true;
    });

    await pass(harness.clock, 4_000);
    const before = [isClosed, caller.isGone()];
    await pass(harness.clock, 10_000);
    await closing;

    expect(before).toEqual([false, false]);
    expect(caller.isGone()).toBe(true);
  });

  it('keeps its content-length', async () => {
    const { response, expected, body } = await answered(kind);

    expect(response.headers['content-length']).toBe(String(Buffer.byteLength(expected)));
    await readAll(slowWritable(body));
  });
});

it('counts against the maxConcurrentCalls of its key until it is read', async () => {
  const kind = wholeReplies['a chat over Gemini'];
  if (kind === undefined) throw new Error('There is no such kind.');
  const { harness, body } = await answered(kind, { key: { maxConcurrentCalls: 1 } });
  const caller = slowWritable(body);
  await turns();
  const whileUnread = (await harness.call(sampleRequests.native)).status;

  await readAll(caller);
  const next = harness.start(sampleRequests.native);
  (await harness.upstream.next()).answer(200, replies.native);

  expect(whileUnread).toBe(429);
  expect((await next.reply).status).toBe(200);
});

it('a large list of models is cut off too, without a call', async () => {
  const models = Array.from({ length: 2_000 }, (_, index) => model({ id: `model-${index}` }));
  const harness = gatewayInProcess({ models });
  const { body } = await handled(harness, { method: 'GET', path: '/v1/models' });
  const caller = slowWritable(pacedBody(body));

  await pass(harness.clock, 31_000);

  expect(caller.isGone()).toBe(true);
});

it('a reply that fits into the buffers of a connection is written at once', async () => {
  const small = { ...geminiReply, candidates: [smallCandidate(60_000)] };
  const harness = gatewayInProcess({ models: modelsOver('gemini') });
  const answer = handled(harness, sampleRequests.chat);
  (await harness.upstream.next()).answer(200, small);

  expect((await answer).body).toBeInstanceOf(Uint8Array);
});

it('a response whose end() throws gives up its place', async () => {
  const kind = wholeReplies['a chat over Gemini'];
  if (kind === undefined) throw new Error('There is no such kind.');
  const { harness, body } = await answered(kind);
  const out = new Writable({ write: (_chunk, _encoding, done) => done() });
  out.end = () => {
    throw new Error('host');
  };
  body.sendTo(out);
  await turns();

  expect(await closesAtOnce(harness)).toBe(true);
  expect(out.destroyed).toBe(true);
});

function smallCandidate(length: number): unknown {
  const parts = [{ text: 'x'.repeat(length) }];
  return { content: { role: 'model', parts }, finishReason: 'STOP' };
}

function modelsOver(dialect: Kind['dialect']): ReturnType<typeof defaultModels> {
  const chat = model({ channels: [channel({ id: `${dialect}-b`, dialect })] });
  return [chat, ...defaultModels().filter(({ id }) => id !== 'chat')];
}

interface Answered {
  readonly harness: InProcessGateway;
  readonly response: GatewayResponse;
  readonly body: ReplyBody;
  /** What a caller that reads everything gets. */
  readonly expected: string;
}

/** A large whole reply that nobody reads yet. */
async function answered(
  { request, dialect, reply, isRepeat }: Kind,
  setup: { readonly options?: Partial<GatewayOptions>; readonly key?: Partial<ApiKey> } = {},
): Promise<Answered> {
  const limitNanos = 10n ** 15n;
  const harness = gatewayInProcess({
    models: modelsOver(dialect),
    ...setup,
    key: { quota: [{ id: 'caller', period: 'total', limitNanos }], ...setup.key },
  });
  const reader = gatewayInProcess({ models: modelsOver(dialect) });
  const expected = (await complete(reader, request, reply)).text;
  if (isRepeat) await complete(harness, request, reply);
  const answer = handled(harness, request);
  if (!isRepeat) (await harness.upstream.next()).answer(200, reply);
  const response = await answer;
  expect(response.status).toBe(200);
  await turns();
  return { harness, response, body: pacedBody(response.body), expected };
}

/** A call whose reply is read immediately. */
async function complete(
  harness: InProcessGateway,
  request: CallerRequest,
  reply: unknown,
): Promise<{ readonly text: string }> {
  const calling = harness.start(request);
  (await harness.upstream.next()).answer(200, reply);
  const read = await calling.reply;
  await turns();
  return read;
}

function handled({ gateway }: InProcessGateway, request: CallerRequest): Promise<GatewayResponse> {
  return gateway.handle(requestOf(request, []));
}

function pacedBody(body: GatewayResponse['body']): ReplyBody {
  if (body instanceof Uint8Array) throw new Error('The reply is written at once.');
  return body;
}

/** Whether no call keeps the gateway from closing. */
async function closesAtOnce({ gateway, clock }: InProcessGateway): Promise<boolean> {
  const startedMs = clock.monotonicMs();
  await gateway.close({ drainMs: 100_000 });
  return clock.monotonicMs() - startedMs < 100_000;
}

async function readAll(caller: Caller): Promise<void> {
  while (!caller.hasAll()) await caller.read();
  await turns();
}

function slowWritable(body: ReplyBody): Caller {
  const waiting: (() => void)[] = [];
  const chunks: Buffer[] = [];
  const out = new Writable({
    write: (chunk: Buffer, _encoding, done) => {
      waiting.push(() => {
        chunks.push(chunk);
        done();
      });
    },
  });
  body.sendTo(out);
  return {
    isGone: () => out.destroyed,
    read: async () => {
      waiting.shift()?.();
      await turns();
    },
    received: () => Buffer.concat(chunks).toString(),
    hasAll: () => out.writableFinished,
  };
}

function slowReadable(body: ReplyBody): Caller {
  const stream = body.readable();
  const chunks: Buffer[] = [];
  return {
    isGone: () => stream.destroyed,
    read: async () => {
      const chunk: Buffer | null = stream.read();
      if (chunk !== null) chunks.push(chunk);
      await turns();
    },
    received: () => Buffer.concat(chunks).toString(),
    hasAll: () => stream.readableEnded,
  };
}
