// suite: quick
/**
 * Requests of every API that are refused for every kind of reason, on models of the caller's own
 * dialect and of others, with names that callers make up. The event has the reason, the key's id,
 * the member, the path and the model, and no text of a caller beyond what may be logged.
 */

import fc from 'fast-check';
import { expect, it } from 'vitest';
import { apiCalls, protocolNames } from '../../../src/apis.ts';
import { upstreamPaths } from '../../../src/dialects/paths.ts';
import type { GatewayEvent } from '../../../src/events/events.ts';
import type { ApiKey } from '../../../src/ports/keys/key-store.ts';
import { dialectNames } from '../../../src/ports/models/capabilities.ts';
import type { ProtocolName } from '../../../src/ports/models/catalog.ts';
import { mintSecret } from '../../../src/secret.ts';
import { type CallerRequest, gatewayInProcess } from '../../support/gateway-in-process.ts';
import { channel, model } from '../../support/models.ts';
import { runsOf } from '../../support/sample.ts';

type Api = ProtocolName | 'native_embeddings';

/** A valid request of each API, except for the changes of a case. */
const apis: Readonly<Record<Api, (model: string, change: object) => CallerRequest>> = {
  chat: (model, change) => ({
    path: '/v1/chat/completions',
    body: { model, messages: [{ role: 'user', content: 'hi' }], ...change },
  }),
  responses: (model, change) => ({
    path: '/v1/responses',
    body: { model, input: 'hi', ...change },
  }),
  messages: (model, change) => ({
    path: '/v1/messages',
    body: { model, max_tokens: 9, messages: [{ role: 'user', content: 'hi' }], ...change },
  }),
  embeddings: (model, change) => ({
    path: '/v1/embeddings',
    body: { model, input: 'hi', ...change },
  }),
  images: (model, change) => ({
    path: '/v1/images/generations',
    body: { model, prompt: 'a cat', ...change },
  }),
  native: (model, change) => ({
    path: `/v1beta/models/${encodeURIComponent(model)}:generateContent`,
    body: { contents: [{ parts: [{ text: 'hi' }] }], ...change },
  }),
  native_embeddings: (model, change) => ({
    path: `/v1beta/models/${encodeURIComponent(model)}:embedContent`,
    body: { content: { parts: [{ text: 'hi' }] }, ...change },
  }),
};
const apiNames: readonly Api[] = [...protocolNames, 'native_embeddings'];

/** Each is wrong in every API, and the error names it. */
const wrongMembers: Readonly<Record<Api, object>> = {
  chat: { messages: 7 },
  responses: { input: 7 },
  messages: { messages: 7 },
  embeddings: { input: 7 },
  images: { prompt: 7 },
  native: { contents: 7 },
  native_embeddings: { outputDimensionality: -1 },
};

const expiredAtMs = Date.UTC(2020, 0, 1);
const record = (id: string, change: Partial<ApiKey> = {}): ApiKey => ({
  id,
  group: 'staff',
  disabled: false,
  quota: [{ id, period: 'total', limitNanos: 1_000_000n }],
  ...change,
});
const secret = mintSecret();
const secrets: ReadonlyMap<string, ApiKey> = new Map([
  [secret, record('valid')],
  ['secret-of-disabled', record('disabled', { disabled: true })],
  ['secret-of-expired', record('expired', { expiresAtMs: expiredAtMs })],
]);

interface Law {
  readonly sent: CallerRequest;
  readonly code: string;
  readonly reason?: string;
  readonly keyId?: string;
  /** The names that the caller chose. */
  readonly path?: string;
  readonly requestedModel?: string;
  /** The error names a member, which the event has too. */
  readonly hasParam?: true;
}

const keyed = (sent: CallerRequest, key: string): CallerRequest => ({
  ...sent,
  withoutKey: true,
  headers: { authorization: `Bearer ${key}`, 'x-api-key': key, 'x-vendor-api-key': key },
});

/** A request that is refused, and what its event must have. */
function lawOf(kind: string, api: Api, id: string, text: string): Law {
  const request = apis[api];
  const modelInPath = api.startsWith('native') ? { requestedModel: id } : {};
  const badKey = (key: string, reason: string, keyId?: string): Law => ({
    sent: keyed(request(id, {}), key),
    code: 'invalid_key',
    reason,
    ...(keyId === undefined ? {} : { keyId }),
    ...modelInPath,
  });
  const keyId = 'valid';
  switch (kind) {
    case 'key_missing':
      return { ...badKey('', kind), sent: { ...request(id, {}), withoutKey: true } };
    case 'key_malformed':
      return badKey(secret.slice(0, -1), kind);
    case 'key_unknown':
      return badKey(mintSecret(), kind);
    case 'key_disabled':
      return badKey('secret-of-disabled', kind, 'disabled');
    case 'key_expired':
      return badKey('secret-of-expired', kind, 'expired');
    case 'unknown model':
      return {
        sent: keyed(request(text, {}), secret),
        code: 'model_not_found',
        keyId,
        requestedModel: text,
      };
    case 'foreign model':
      return {
        sent: keyed(request(`foreign-${id}`, {}), secret),
        code: 'model_not_allowed',
        keyId,
        requestedModel: `foreign-${id}`,
        hasParam: true,
      };
    case 'wrong member':
      return {
        sent: keyed(request(id, wrongMembers[api]), secret),
        code: 'invalid_request',
        keyId,
        ...modelInPath,
        hasParam: true,
      };
    case 'unserved path': {
      const path = `/v1/files/${text}`;
      return { sent: keyed({ path, body: {} }, secret), code: 'route_not_found', path };
    }
    default: {
      const path = `/${text}`;
      return { sent: keyed({ path, body: {} }, secret), code: 'route_not_found', path };
    }
  }
}

const kinds = [
  'key_missing',
  'key_malformed',
  'key_unknown',
  'key_disabled',
  'key_expired',
  'unknown model',
  'foreign model',
  'wrong member',
  'unserved path',
  'unknown path',
] as const;

const plain = 'ABCXYZabcxyz0189._:/-';
const isPlain = (text: string): boolean =>
  text.length > 0 &&
  text.length <= 64 &&
  [...text].every((one) => /[A-Za-z0-9]/.test(one) || '._:/-'.includes(one));
/** Names begin alike, so that the canary is found wherever an odd one gets. */
const named = fc.oneof(
  fc
    .array(fc.constantFrom(...plain), { maxLength: 70 })
    .map((all) => `canary${all.join('').replaceAll(/[./:]/g, '')}`),
  fc.string({ unit: 'grapheme', maxLength: 12 }).map((odd) => `canary ${odd}`),
  fc.integer({ min: 40, max: 70 }).map((length) => 'canary'.padEnd(length, 'y')),
  fc.constantFrom(`canary-${secret}`, `canary-${secret.slice(0, 40)}`),
);

type Refused = Extract<GatewayEvent, { readonly type: 'call_refused' }>;

it('the event of a refusal names what was wrong, and nothing that may not be logged', async () => {
  const one = fc.record({
    kind: fc.constantFrom(...kinds),
    api: fc.constantFrom(...apiNames),
    dialect: fc.constantFrom(...dialectNames),
    text: named,
  });
  await fc.assert(
    fc.asyncProperty(one, async ({ kind, api, dialect, text }) => {
      const protocols = [api === 'native_embeddings' ? 'embeddings' : api] as const;
      const { operation } = apiCalls[protocols[0]];
      const hasDialect = upstreamPaths[dialect][operation.name] !== undefined;
      const channels = [channel({ dialect: hasDialect ? dialect : 'openai' })];
      const { call, allEvents } = gatewayInProcess({
        models: [
          model({ id: 'm', protocols, channels }),
          model({ id: 'foreign-m', groups: ['others'], protocols, channels }),
        ],
        options: { keys: { find: (sent) => secrets.get(sent) } },
      });
      const law = lawOf(kind, api, 'm', text);

      const reply = await call(law.sent);

      const [event, ...others] = allEvents.filter(
        (each): each is Refused => each.type === 'call_refused',
      );
      expect(others).toEqual([]);
      expect(event).toMatchObject({ code: law.code, status: reply.status });
      expect(event?.reason).toBe(law.reason);
      expect(event?.keyId).toBe(law.keyId);
      for (const member of ['path', 'requestedModel'] as const) {
        const chosen = law[member];
        const isLogged = chosen !== undefined && isPlain(chosen) && !chosen.includes('tg_');
        expect(event?.[member]).toBe(isLogged ? chosen : undefined);
      }
      if (law.hasParam === true) expect(event?.param).toMatch(/^[\w.[\]]{1,64}$/);
      const written = JSON.stringify({ ...event, path: '', requestedModel: '' });
      expect(written).not.toContain('canary');
      expect(JSON.stringify(event)).not.toContain(secret.slice(0, 20));
    }),
    { numRuns: runsOf(400) },
  );
});

it('nor a secret of the request, wherever it and the name are', async () => {
  const own = 'corp.secret_0001-abcdefabcdef';
  const carriers: readonly ((key: string) => Partial<CallerRequest>)[] = [
    (key) => ({ headers: { authorization: `Bearer ${key}` } }),
    (key) => ({ headers: { authorization: key } }),
    (key) => ({ headers: { 'x-api-key': key } }),
    (key) => ({ headers: { 'x-goog-api-key': key } }),
    (key) => ({ headers: { 'api-key': key } }),
    (key) => ({ headers: { cookie: `theme=dark; sid=${key}; lang=en` } }),
    (key) => ({ search: `?key=${key}` }),
  ];
  const names: readonly ((name: string) => CallerRequest)[] = [
    (name) => ({ path: `/v1/files/${name}`, body: {} }),
    (name) => apis.native(name, {}),
    (name) => apis.chat('chat', { [name]: 1, tools: [{ type: name }] }),
    (name) => apis.chat(name, {}),
  ];
  const one = fc.record({
    carrier: fc.constantFrom(...carriers),
    named: fc.constantFrom(...names),
    ofOther: fc.boolean(),
    from: fc.nat(own.length - 12),
    length: fc.integer({ min: 12, max: own.length }),
    before: fc.constantFrom('', 'gpt-'),
  });
  await fc.assert(
    fc.asyncProperty(one, async ({ carrier, named, ofOther, from, length, before }) => {
      const key = ofOther ? secret : own.slice(from, from + length);
      const { call, allEvents } = gatewayInProcess({});
      const request = { ...named(before + key), ...carrier(own) };
      const id = request.headers === undefined ? {} : { 'x-request-id': key };
      const headers = { ...id, ...request.headers };

      await call({ ...request, headers });

      expect(allEvents.map(({ type }) => type)).toContain('call_refused');
      expect(JSON.stringify(allEvents)).not.toContain(key);
    }),
    { numRuns: runsOf(400) },
  );
});
