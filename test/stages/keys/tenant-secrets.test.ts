// suite: quick
/**
 * JWTs, cookies, provider keys of users and what a guard reads: none of it reaches an event, a
 * record, a status, a reply, the output of the process, or an upstream that it is not meant for.
 */
import { describe, expect, it, onTestFinished } from 'vitest';
import type { ApiKey } from '../../../src/ports/keys/key-store.ts';
import { cachedKeyStore } from '../../../src/stores/cached-key-store.ts';
import { memoryIdempotencyStore } from '../../../src/stores/memory/idempotency-store.ts';
import { found, listenToPrints } from '../../faults/canaries.ts';
import type { CallHandler, DrivenCall } from '../../support/driven-upstream.ts';
import { type CallerRequest, gatewayInProcess } from '../../support/gateway-in-process.ts';
import {
  channel,
  completeReply,
  headersOf,
  model,
  sampleRequests,
  streamBeginnings,
} from '../../support/models.ts';

const part = (name: string): string =>
  Buffer.from(JSON.stringify({ [name]: 'canary' })).toString('base64url');
const canaries = {
  jwt: `${part('alg')}.${part('sub')}.${'canary-signature-'.repeat(100)}`,
  cookie: 'sid=canary-session-0123456789',
  userSecret: 'canary-provider-key-of-ada',
  operatorSecret: 'canary-provider-key-of-the-operator',
  prompt: 'canary-prompt about a private matter',
};

const key = (id: string): ApiKey => ({
  id,
  group: 'staff',
  disabled: false,
  quota: [{ id, period: 'total', limitNanos: 1_000_000n }],
});

/** What an upstream could repeat of a call: the secret that it got. */
const leakOf = ({ request }: DrivenCall): string => `You sent ${request.headers.authorization}.`;
const treatments: readonly CallHandler[] = [
  completeReply('chat'),
  (up) => up.answer(400, { error: { message: leakOf(up), code: leakOf(up), param: leakOf(up) } }),
  (up) => up.answer(401, { error: { message: leakOf(up), code: 'invalid_api_key' } }),
  (up) => up.answer(500, { error: { message: leakOf(up) } }),
  (up) => up.breakOff('reset'),
  (up) => {
    up.respond(200, headersOf('chatStream'));
    up.write(streamBeginnings.chatStream);
    up.write(`data: ${JSON.stringify({ error: { message: leakOf(up) } })}\n\n`);
    up.end();
  },
];

const page = { 'content-type': 'application/json', 'sec-fetch-site': 'same-origin' };
const bearer = { ...page, authorization: `Bearer ${canaries.jwt}` };
/** How callers identify themselves: as they should, and in ways that are refused. */
const callers: readonly Readonly<Record<string, string>>[] = [
  bearer,
  { ...page, cookie: canaries.cookie },
  { ...bearer, cookie: canaries.cookie },
  { ...page, 'sec-fetch-site': 'cross-site', cookie: canaries.cookie },
  { ...page, 'content-type': 'text/plain', cookie: canaries.cookie },
  { ...page, authorization: `Bearer ${canaries.jwt}${'x'.repeat(8_192)}` },
  { ...page, authorization: `Basic ${canaries.jwt}`, cookie: canaries.cookie },
];

it('no secret of a caller or a user appears anywhere else', async () => {
  const prints = listenToPrints();
  onTestFinished(prints.stop);
  const messages = [{ role: 'user', content: canaries.prompt }];
  const answers: unknown[] = [];
  const stored: unknown[] = [];
  const statuses: unknown[] = [];
  const sent: DrivenCall[] = [];
  let fails = false;
  const broken = (): never => {
    throw new Error(Object.values(canaries).join(' '));
  };

  for (const treat of treatments) {
    const harness = gatewayInProcess({
      models: [
        model({
          channels: [
            channel({
              credential: ({ key: { id } }) =>
                id === 'ada'
                  ? { secret: canaries.userSecret, account: 'ada' }
                  : canaries.operatorSecret,
            }),
          ],
        }),
      ],
      handlers: Array.from({ length: 100 }, () => treat),
      store: (quota) => recorded(quota, stored),
      options: {
        idempotency: recorded(memoryIdempotencyStore(), stored),
        keys: cachedKeyStore(
          { find: (secret) => (secret === canaries.jwt ? key('ada') : undefined) },
          { vary: ({ headers }) => String(headers.cookie) },
        ),
        sessions: {
          find: ({ headers }) => {
            if (fails) broken();
            return headers.cookie === canaries.cookie ? key('eve') : undefined;
          },
        },
        guard: {
          check: ({ body }) => {
            if (fails) broken();
            return { metadata: { size: String(JSON.stringify(body()).length) } };
          },
        },
      },
    });
    for (const headers of callers) {
      for (const stream of [false, true]) {
        for (fails of [false, true]) {
          const body = { ...Object(sampleRequests.chat.body), messages, stream };
          const request: CallerRequest = {
            ...sampleRequests.chat,
            body,
            headers: { ...headers, 'idempotency-key': `order-${answers.length}` },
            withoutKey: true,
          };
          const { status, headers: replied, text } = await harness.call(request);
          answers.push({ status, replied, text });
        }
      }
    }
    // Without the error that the guard threw, a hidden member for the host alone.
    const events = harness.events.map((event) => ({ ...event }));
    statuses.push(harness.gateway.channels(), events, harness.records);
    sent.push(...harness.upstream.calls);
    fails = false;
    await harness.gateway.close();
  }

  expect(found(canaries, { answers, statuses, stored, prints: prints.text })).toEqual([]);
  expect(sent.length).toBeGreaterThan(20);
  expect(stored.length).toBeGreaterThan(100);
  const { userSecret, operatorSecret, prompt: _sent, ...ofCallers } = canaries;
  const wire = sent.map(({ request: { path, headers, body } }) => [
    path,
    headers,
    Buffer.concat(body).toString(),
  ]);
  expect(found(ofCallers, { wire })).toEqual([]);
  for (const [path, headers, body] of wire) {
    expect(found({ userSecret, operatorSecret }, { path, body })).toEqual([]);
    expect(found({ userSecret, operatorSecret }, { headers })).toHaveLength(1);
  }
});

/** The store, which records what its operations are called with. */
function recorded<T extends object>(store: T, calls: unknown[]): T {
  return new Proxy(store, {
    get: (target, name) => {
      const operation: unknown = Reflect.get(target, name);
      if (typeof operation !== 'function') return operation;
      return (...inputs: unknown[]) => {
        calls.push([name, inputs]);
        return Reflect.apply(operation, target, inputs);
      };
    },
  });
}

describe.each([
  'authorization',
  'x-vendor-api-key',
  'x-goog-api-key',
  'x-api-key',
  'cookie',
])('a request id that is part of %s', (header) => {
  const secret = 'sk-own-0123456789-abcdefghij';

  it.each([
    secret,
    secret.slice(0, 8),
    secret.slice(-8),
    secret.slice(5, 20),
  ])('is replaced: %s', async (id) => {
    const { call, records, events, ended } = gatewayInProcess({
      handlers: [completeReply('chat')],
    });
    const headers = {
      authorization: 'Bearer caller-secret',
      [header]: header === 'authorization' ? `Bearer ${secret}` : `session=${secret}`,
      'x-request-id': id,
    };
    const reply = await call({ ...sampleRequests.chat, headers });
    if (reply.status === 200) await ended(1);

    expect(reply.headers['x-request-id']).toMatch(/^[\w-]{8,64}$/);
    const seen = JSON.stringify([reply.headers, records, events], (_name, value) =>
      typeof value === 'bigint' ? String(value) : value,
    );
    expect(seen).not.toContain(id);
  });
});
