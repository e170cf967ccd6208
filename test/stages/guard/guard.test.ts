// suite: slow host
/** The host's guard: when it is asked, what it sees, and what becomes of the call. */
import { runInNewContext } from 'node:vm';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Guard, GuardedCall } from '../../../src/ports/guard.ts';
import {
  type CallerRequest,
  gatewayInProcess,
  untouched,
} from '../../support/gateway-in-process.ts';
import {
  channel,
  chat,
  completeReply,
  contents,
  image,
  kinds,
  model,
  sampleRequests,
} from '../../support/models.ts';
import { failures, inTime, turns, untyped } from '../ports/failing.ts';
import { labels, wrong } from '../ports/wrong-decisions.ts';
import { guarded } from './guarded-gateway.ts';

const sentence = 'This app answers questions about cooking only. Ask one of those.';
const refuses: Guard = { check: () => ({ refuse: sentence }) };

const countTokens: CallerRequest = {
  path: '/v1beta/models/native:countTokens',
  body: { contents },
};

describe('a guard', () => {
  it.each(kinds)('sees the key, the model and the body of every call: %s', async (kind) => {
    const { call, seen } = guarded(kind);

    expect((await call(sampleRequests[kind])).status).toBe(200);

    const isNative = kind.startsWith('native');
    expect(seen).toMatchObject([
      {
        key: { id: 'caller' },
        model: { id: isNative ? 'native' : kind === 'image' ? 'image' : 'chat' },
        protocol: isNative ? 'native' : kind === 'image' ? 'images' : 'chat',
        operation: kind === 'image' ? 'images' : 'content',
      },
    ]);
    expect(seen[0]?.body()).toEqual(sampleRequests[kind].body);
  });

  it('sees a count of tokens too, and no list of models', async () => {
    const { call, seen } = guarded('native');

    await call(countTokens);
    await call({ method: 'GET', path: '/v1/models' });

    expect(seen.map(({ operation }) => operation)).toEqual(['count_tokens']);
  });

  it.each(kinds)('refuses a call before it costs anything: %s', async (kind) => {
    const { call, state, upstream, records, events } = guarded(kind, refuses);

    const { status, text, headers } = await call(sampleRequests[kind]);

    expect([status, headers['x-request-id'] !== undefined]).toEqual([400, true]);
    expect(JSON.parse(text)).toEqual(
      kind.startsWith('native')
        ? {
            error: {
              code: 400,
              message: sentence,
              status: 'INVALID_ARGUMENT',
              details: [
                {
                  '@type': 'type.googleapis.com/google.rpc.ErrorInfo',
                  reason: 'REFUSED_BY_POLICY',
                  domain: 'tollgate',
                },
              ],
            },
          }
        : {
            error: {
              message: sentence,
              type: 'invalid_request_error',
              param: null,
              code: 'refused_by_policy',
            },
          },
    );
    expect(await state()).toEqual(untouched);
    expect([upstream.calls, records, events]).toEqual([[], [], []]);
  });

  it('sends 300 characters of a sentence, in one line, or a sentence of its own', async () => {
    const texts = ['x'.repeat(400), '😀'.repeat(400), 'One.\r\nTwo.\u0000', '', ' \n'];
    const messages = [];
    for (const refuse of texts) {
      const { call } = guarded('chat', { check: () => ({ refuse }), onFailure: 'pass' });
      const { status, text } = await call(sampleRequests.chat);
      messages.push([status, JSON.parse(text).error.message]);
    }

    const usual = 'The policy of this service refuses this request.';
    expect(messages).toEqual([
      [400, 'x'.repeat(300)],
      [400, '😀'.repeat(300)],
      [400, 'One. Two.'],
      [400, usual],
      [400, usual],
    ]);
  });

  it('is not asked for a call that is refused anyway', async () => {
    const { call, seen } = guarded('chat');
    const requests: readonly (readonly [CallerRequest, number])[] = [
      [{ ...sampleRequests.chat, headers: { authorization: 'Bearer unknown' } }, 401],
      [{ ...sampleRequests.chat, body: '{"model":' }, 400],
      [chat({ messages: 'none' }), 400],
      [chat({ model: 'missing' }), 404],
      [chat({ model: 'foreign' }), 403],
      [chat({ n: 0 }), 400],
      [{ ...sampleRequests.chat, headers: { 'content-type': 'text/plain' } }, 415],
    ];

    for (const [request, status] of requests) expect((await call(request)).status).toBe(status);
    const refusal = { granted: false, refused: 0, retryAfterMs: 1_000, remaining: [0] } as const;
    const rateLimiter = { take: () => refusal, adjust: () => {} };
    const defaultRates = [{ calls: { perMinute: 1 } }];
    const limited = guarded('chat', {}, { options: { rateLimiter, defaultRates } });
    expect((await limited.call(sampleRequests.chat)).status).toBe(429);
    expect(limited.seen).toEqual([]);

    expect(seen).toEqual([]);
  });

  it('is asked before an Idempotency-Key is looked up, also for a repeated call', async () => {
    let isOpen = true;
    const { call, upstream } = guarded('chat', {
      check: () => (isOpen ? undefined : { refuse: sentence }),
    });
    const request = { ...sampleRequests.chat, headers: { 'idempotency-key': 'order-1' } };

    const statuses = [(await call(request)).status];
    isOpen = false;
    statuses.push((await call(request)).status);
    isOpen = true;
    statuses.push((await call(request)).status);

    expect(statuses).toEqual([200, 400, 200]);
    expect(upstream.calls).toHaveLength(1);
  });

  it('is asked again for a fallback, with the model that would serve the call', async () => {
    const fallbacks = ['dear', 'cheap'];
    const down = channel({ id: 'down', baseUrl: 'https://down.example/v1' });
    const models = [
      model({ fallbacks, channels: [down] }),
      model({ id: 'dear' }),
      model({ id: 'cheap' }),
    ];
    const { call, upstream, nextRecord } = guarded(
      'chat',
      {
        check: ({ model: { id } }) =>
          id === 'dear' ? { refuse: sentence } : { metadata: { checked: id } },
      },
      { models, handlers: [(up) => up.answer(401, {}), completeReply('chat')] },
    );

    const { status, headers } = await call(sampleRequests.chat);

    expect([status, headers['x-tollgate-model']]).toEqual([200, 'cheap']);
    expect(upstream.calls).toHaveLength(2);
    expect(await nextRecord()).toMatchObject({ modelId: 'cheap', metadata: { checked: 'cheap' } });
  });

  it('holds the call’s place among the calls of its key while it decides', async () => {
    let decide: () => void = () => {};
    const { start, call } = guarded(
      'chat',
      {
        check: () =>
          new Promise((resolve) => {
            decide = () => resolve(undefined);
          }),
      },
      { key: { maxConcurrentCalls: 1 } },
    );

    const first = start(sampleRequests.chat);
    await turns();
    const second = await call(sampleRequests.chat);
    decide();

    expect([(await first.reply).status, second.status]).toEqual([200, 429]);
  });
});

/** Answers that let a call run. */
const passes: readonly (readonly [string, unknown])[] = [
  ['undefined', undefined],
  ['null', null],
  ['an empty object', {}],
  ['members that are undefined', { refuse: undefined, metadata: undefined }],
  ['an object without a prototype', Object.assign(Object.create(null), { metadata: {} })],
  ['an object of another realm', runInNewContext('({ metadata: { a: "x" } })')],
];

/** Answers that refuse, although something else of them is wrong. */
const refusals: readonly (readonly [string, unknown])[] = [
  ['another member', { refuse: sentence, code: 5 }],
  ['wrong metadata', { refuse: sentence, metadata: 5 }],
  [
    'a class',
    new (class Refusal {
      readonly refuse = sentence;
    })(),
  ],
];

describe('the answer of a guard', () => {
  it.each(passes)('%s lets the call run', async (_what, answer) => {
    const { call, events } = guarded('chat', { check: untyped(answer) });

    expect((await call(sampleRequests.chat)).status).toBe(200);
    expect(events).not.toContainEqual(expect.objectContaining({ type: 'port_failed' }));
  });

  it.each(
    refusals,
  )('with a sentence and %s refuses, whatever onFailure says', async (_what, answer) => {
    const { call, upstream } = guarded('chat', { check: untyped(answer), onFailure: 'pass' });

    const { status, text } = await call(sampleRequests.chat);

    expect([status, JSON.parse(text).error.message]).toEqual([400, sentence]);
    expect(upstream.calls).toEqual([]);
  });
});

describe('a guard that fails', () => {
  const answers = wrong.map(([how, answer]) => ({ how: `answers ${how}`, fail: untyped(answer) }));

  it.each([...failures, ...answers])('and $how refuses the call with 503', async ({ fail }) => {
    const { call, clock, state, upstream, events } = guarded('chat', { check: fail });

    const { status, text } = await inTime(clock, call(sampleRequests.chat));

    expect([status, JSON.parse(text).error.code]).toEqual([503, 'store_unavailable']);
    expect(await state()).toEqual(untouched);
    expect(upstream.calls).toEqual([]);
    expect(events).toMatchObject([{ type: 'port_failed', port: 'guard', operation: 'check' }]);
  });

  it.each(wrong)('and answers %s is reported with the member', async (_how, answer, member) => {
    const { call, events } = guarded('chat', { check: untyped(answer) });

    await call(sampleRequests.chat);

    const [event] = events;
    const named = event !== undefined && 'member' in event ? event.member : undefined;
    expect(event).toMatchObject({ type: 'port_failed', reason: 'StoreCorrupt' });
    expect(named).toBe(member);
    expect(JSON.stringify(event)).not.toMatch(/a{65}|x{65}/);
  });

  it.each([...failures, ...answers])('and $how lets it pass if the host says so', async ({
    fail,
  }) => {
    const { call, clock, events, nextRecord } = guarded('chat', { check: fail, onFailure: 'pass' });

    expect((await inTime(clock, call(sampleRequests.chat))).status).toBe(200);

    expect(await nextRecord()).toMatchObject({ outcome: 'complete', metadata: undefined });
    expect(events[0]).toMatchObject({ type: 'port_failed', port: 'guard', operation: 'check' });
  });

  it('and answers an object of any other members refuses the call with 503', async () => {
    const answers = fc
      .dictionary(fc.string(), fc.anything(), { minKeys: 1 })
      .filter((answer) => typeof answer.refuse !== 'string');
    await fc.assert(
      fc.asyncProperty(answers, async (answer) => {
        fc.pre(Object.keys(answer).some((name) => name !== 'refuse' && name !== 'metadata'));
        const { call, events } = guarded('chat', { check: untyped(answer) });

        expect((await call(sampleRequests.chat)).status).toBe(503);
        expect(events).toMatchObject([{ type: 'port_failed', port: 'guard' }]);
      }),
      { numRuns: 60 },
    );
  });

  it('by hanging does so after two seconds', async () => {
    const { start, clock } = guarded('chat', { check: () => new Promise(() => {}) });
    let isOver = false;
    const { reply } = start(sampleRequests.chat);
    const over = reply.finally(() => {
      isOver = true;
    });

    await turns();
    clock.advance(1_999);
    await turns();
    expect(isOver).toBe(false);
    clock.advance(1);

    expect((await over).status).toBe(503);
  });
});

describe('the labels of a guard', () => {
  it.each(kinds)('are in the usage record, beside those of the key: %s', async (kind) => {
    const { call, nextRecord } = guarded(
      kind,
      { check: () => ({ metadata: { feature: 'search', team: 'guessed' } }) },
      { key: { metadata: { team: 'kitchen' } } },
    );

    await call(sampleRequests[kind]);

    expect((await nextRecord()).metadata).toEqual({ feature: 'search', team: 'kitchen' });
  });

  it('may be sixteen, and are a copy', async () => {
    const metadata = Object.fromEntries(labels(16));
    const { call, nextRecord } = guarded('chat', { check: () => ({ metadata }) });

    await call(sampleRequests.chat);
    metadata['label-0'] = 'changed';

    const record = await nextRecord();
    expect(Object.keys(record.metadata ?? {})).toHaveLength(16);
    expect(record.metadata?.['label-0']).toBe('x');
  });

  it('are those of the key where the guard gives none', async () => {
    const key = { metadata: { team: 'kitchen' } };
    for (const answer of [undefined, {}, { metadata: {} }]) {
      const { call, nextRecord } = guarded('chat', { check: () => answer }, { key });
      await call(sampleRequests.chat);

      expect((await nextRecord()).metadata).toEqual({ team: 'kitchen' });
    }
  });
});

it('without a guard a record has the labels of the key', async () => {
  const metadata = { team: 'kitchen' };
  const { call, nextRecord } = gatewayInProcess({
    key: { metadata },
    handlers: [completeReply('chat')],
  });

  await call(sampleRequests.chat);

  expect((await nextRecord()).metadata).toEqual(metadata);
});

it('a guard that is an instance of a class keeps its members', async () => {
  class CookingGuard implements Guard {
    readonly #topic = 'cooking';
    readonly name = 'cooking guard';
    check({ body }: GuardedCall) {
      return JSON.stringify(body()).includes(this.#topic) ? undefined : { refuse: sentence };
    }
  }
  const { call } = gatewayInProcess({
    handlers: [completeReply('image')],
    models: [model({ id: 'image', protocols: ['images'], price: { per: 'free' } })],
    options: { guard: new CookingGuard() },
  });

  expect([(await call(image())).status, (await call(image({ prompt: 'cooking' }))).status]).toEqual(
    [400, 200],
  );
});
