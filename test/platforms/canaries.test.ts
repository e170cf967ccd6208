// suite: slow
/**
 * No part of a cloud's credential is in any text: what the caller gets, events, log lines, records,
 * metrics, all that the library of admins has for the console, its audit trail, and the output of
 * the process. Whatever the upstream repeats of it, and whatever a credential function throws.
 */
import { inspect } from 'node:util';
import { Registry } from 'prom-client';
import { afterAll, describe, expect, it } from 'vitest';
import { createAdmin } from '../../src/admin/admin.ts';
import { staticCatalog } from '../../src/catalog/static-catalog.ts';
import { logEvents } from '../../src/events/log.ts';
import { bedrock } from '../../src/platforms/bedrock/bedrock.ts';
import { azure, vertex } from '../../src/platforms/places.ts';
import type { Channel } from '../../src/ports/models/catalog.ts';
import { prometheusMetrics } from '../../src/prometheus/prometheus-metrics.ts';
import { memoryKeyStore } from '../../src/stores/memory/key-store.ts';
import { memoryUsageSink } from '../../src/stores/memory/usage-sink.ts';
import { listenToPrints } from '../faults/canaries.ts';
import { gatewayInProcess } from '../support/gateway-in-process.ts';
import { channel, model } from '../support/models.ts';
import { someOf } from '../support/sample.ts';
import { type ScriptedReply, scriptedUpstream } from '../support/scripted-upstream.ts';
import { secretForms, showsSecret } from '../support/secret-forms.ts';
import { exception, streamHeaders } from './bedrock/messages.ts';

const aws = {
  accessKeyId: 'AKIAQ7ZP0FKD93LMXW2T',
  secretAccessKey: 'q7Zp0fKd93LmXw2TtBv8/hJ4+nR6yU1iOe5aGc0s',
  sessionToken: 'IQoJb3Jp-Zx8cVb7nMa6sDf5gHj4kLq3wEr2tYu1iO',
};
const token = 'ya29.a0AfB_Hq8WnE3rTy5uIo7pLk9jHg2fDs4aZx6cV';
/** What the errors of the clouds' libraries carry. */
const refreshToken = '1//0gRk3mPv7xQw2zLt9hNs5bYc8dJf4eUa6iOo1';
const privateKey = 'MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIB';
const canaries = [...Object.values(aws), token, refreshToken, privateKey];

const expiration = new Date('2099-01-01');
const project = { project: 'p', location: 'us-east5' } as const;
const places: Readonly<Record<string, Partial<Channel>>> = {
  'Bedrock mantle': {
    ...bedrock({ kind: 'mantle', region: 'us-east-1' }),
    credential: () => ({ ...aws, expiration }),
  },
  'Bedrock runtime': {
    ...bedrock({ kind: 'runtime', region: 'us-east-1' }),
    credential: () => ({ ...aws, expiration }),
  },
  // The answer of google-auth-library has the response, and that the configuration.
  'Claude on Vertex': {
    ...vertex({ kind: 'anthropic', ...project }),
    credential: async () => ({ token, res: { config: { refreshToken, privateKey } } }),
  },
  'Claude on Foundry': {
    ...azure({ kind: 'anthropic', resource: 'contoso' }),
    credential: async () => ({ token, expiresOnTimestamp: Number(expiration) }),
  },
};

const prints = listenToPrints();
afterAll(() => prints.stop());

/** All that can be seen of one call, and of what operators then look at. */
async function seenOf(place: Partial<Channel>, reply: ScriptedReply, stream: boolean) {
  const models = [model({ protocols: ['messages'], channels: [channel({ id: 'c', ...place })] })];
  const usage = memoryUsageSink();
  const upstream = scriptedUpstream(reply);
  const { call, gateway, quota, allEvents } = gatewayInProcess({
    models,
    options: { usage, upstream },
  });
  const lines: unknown[] = [];
  const log = (...line: readonly unknown[]): void => void lines.push(line);
  gateway.subscribe(logEvents({ info: log, warn: log, error: log, debug: log }));
  const register = new Registry();
  prometheusMetrics(gateway, { register });
  const admin = createAdmin({
    ...{ gateway, quota, usage, keys: memoryKeyStore(), catalog: staticCatalog(models) },
  });
  const messages = [{ role: 'user', content: 'hi' }];
  const body = { model: 'chat', max_tokens: 9, messages, stream };
  const { text, headers } = await call({ path: '/v1/messages', body });
  await admin.channels.test('ada', 'c').catch((error: unknown) => error);
  await admin.channels.disable('ada', 'c');
  const pages = [
    admin.channels.list(),
    await admin.channels.accounts(),
    await admin.calls.list(),
    await admin.now(),
    await admin.audit.list(),
    admin.catalog.models(),
    gateway.channels(),
    gateway.status(),
  ];
  const seen = { text, headers, allEvents, lines, pages, records: usage.records };
  const metrics = await register.metrics();
  return { sent: upstream.requests, seen: `${everythingIn(seen)}\n${metrics}\n${prints.text}` };
}

function everythingIn(value: unknown): string {
  return inspect(value, { depth: 20, showHidden: true, maxStringLength: null });
}

/** The canaries in a text; the search for parts of one is slow, and words are often repeated. */
function shownIn(seen: string, secret = refreshToken): readonly string[] {
  const words = [...new Set(seen.split(/\s+/))].join('\n');
  return canaries.filter(
    (canary) => words.includes(canary) || (canary === secret && showsSecret(canary, words)),
  );
}

/** Replies that repeat a text where upstreams do. */
function repliesWith(text: string): readonly (readonly [ScriptedReply, stream: boolean])[] {
  const json = { 'content-type': 'application/json' };
  const error = (status: number, document: object, headers = {}): ScriptedReply => {
    return { status, headers: { ...json, ...headers }, chunks: [JSON.stringify(document)] };
  };
  const type = 'invalid_request_error';
  const start = 'event: message_start\ndata: {"type":"message_start","message":{}}\n\n';
  const event = { type: 'error', error: { type, message: text } };
  return [
    ...[400, 401, 403, 404, 429, 500].map(
      (status) =>
        [error(status, { type: 'error', error: { type, message: text } }), false] as const,
    ),
    [error(400, { message: text }, { 'x-amzn-errortype': 'ValidationException' }), false],
    [error(403, { Message: text }), false],
    [error(400, { __type: text, error: { code: text, type: text, message: 'No.' } }), false],
    [error(400, {}, { 'x-amzn-errortype': text.slice(0, 60), 'request-id': text }), false],
    [error(400, { error: { code: 400, status: text, message: text } }), false],
    [
      {
        headers: { 'content-type': 'text/event-stream' },
        chunks: [start, `event: error\ndata: ${JSON.stringify(event)}\n\n`],
      },
      true,
    ],
    [
      { headers: streamHeaders, chunks: [exception('validationException', text, 'exception')] },
      true,
    ],
  ];
}

describe.each(Object.entries(places))('a credential on %s', (_, place) => {
  const parts = 'platform' in place && place.platform?.name === 'bedrock' ? aws : { token };

  it.each(Object.entries(parts))('%s is in no text that repeats it', async (_part, secret) => {
    const cases = Object.entries(secretForms).flatMap(([form, write]) =>
      repliesWith(`The value ${write(secret)} is wrong.`).map((one) => [form, ...one] as const),
    );
    for (const [form, reply, stream] of someOf(someOf(cases))) {
      const { seen, sent } = await seenOf(place, reply, stream);

      expect(sent.length).toBeGreaterThan(0);
      expect({ form, reply, shown: shownIn(seen, secret) }).toEqual({ form, reply, shown: [] });
    }
  });

  it('is in no text if its function fails', async () => {
    const details = { data: `grant_type=refresh_token&refresh_token=${refreshToken}` };
    const error = Object.assign(new Error('invalid_grant', { cause: { privateKey } }), {
      ...{ code: 'invalid_grant', config: details, response: { ...details, request: { token } } },
    });
    const credential = async (): Promise<never> => {
      throw error;
    };
    const { seen, sent } = await seenOf({ ...place, credential }, {}, false);

    expect(sent).toEqual([]);
    expect(seen).toContain('invalid_grant');
    expect(shownIn(seen)).toEqual([]);
  });
});
