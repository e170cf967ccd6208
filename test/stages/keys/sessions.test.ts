// suite: slow
/**
 * Sessions in place of keys: which requests may use one, and that no request which another site can
 * cause spends anything.
 */
import { describe, expect, it } from 'vitest';
import type { ApiKey, KeyRequest, SessionStore } from '../../../src/ports/keys/key-store.ts';
import type { CallHandler } from '../../support/driven-upstream.ts';
import {
  gatewayInProcess,
  type InProcessGateway,
  untouched,
} from '../../support/gateway-in-process.ts';
import { chat, completeReply, kinds, sampleRequests } from '../../support/models.ts';
import { failures, inTime } from '../ports/failing.ts';

const cookie = 'sid=session-of-ada';
const own = 'https://app.example';
const user: ApiKey = {
  id: 'caller',
  group: 'staff',
  disabled: false,
  quota: [{ id: 'caller', period: 'total', limitNanos: 1_000_000n }],
};

type Headers = Readonly<Record<string, string>>;

const ofOwnPage: Headers = {
  cookie,
  'content-type': 'application/json',
  'sec-fetch-site': 'same-origin',
  origin: own,
};

describe('a session in place of a key', () => {
  it.each(kinds)('pays for a call of the app’s own page: %s', async (kind) => {
    const { call, state, records } = gateway({ handlers: [completeReply(kind)] });

    const { status } = await call({ ...sampleRequests[kind], headers: ofOwnPage });

    expect(status).toBe(200);
    expect(await state()).toMatchObject({ held: 0n, inFlight: 0 });
    expect(records).toMatchObject([{ keyId: 'caller', outcome: 'complete' }]);
  });

  it('gets the method, the path and the headers, and can change none of them', async () => {
    const seen: KeyRequest[] = [];
    const sent: Headers = ofOwnPage;
    const { call } = gateway({
      sessions: {
        find: (request) => {
          seen.push(request);
          Reflect.set(request.headers, 'content-type', 'text/plain');
          return user;
        },
      },
      handlers: [completeReply('chat')],
    });

    await call({ ...chat(), headers: sent });

    const [request] = seen;
    expect(request).toMatchObject({ method: 'POST', path: '/v1/chat/completions' });
    expect(Object.keys(request?.headers ?? {})).toEqual(Object.keys(sent));
    expect([Object.isFrozen(request), Object.isFrozen(request?.headers)]).toEqual([true, false]);
    expect(sent['content-type']).toBe('application/json');
  });

  it('is not asked for where a key was sent, even one that is refused', async () => {
    const { call, lookups } = gateway({ handlers: [completeReply('chat')] });
    const sent = ['Bearer caller-secret', 'Bearer unknown', 'Bearer ', 'Basic YTpi', ''];

    const statuses = [];
    for (const authorization of sent) {
      statuses.push((await call({ ...chat(), headers: { ...ofOwnPage, authorization } })).status);
    }

    expect(statuses).toEqual([200, 401, 401, 401, 401]);
    expect(lookups).toEqual([]);
  });

  it('is not asked for where any header that may carry a key was sent, on any API', async () => {
    const names = ['authorization', 'x-api-key', 'x-our-key', 'x-goog-api-key'];
    const values = ['unknown', 'Bearer unknown', ''];
    const { call, lookups, upstream } = gateway({
      nativeKeyHeaders: ['x-our-key', 'x-goog-api-key'],
    });
    const statuses = new Set<number>();
    for (const kind of kinds) {
      for (const name of names) {
        for (const value of values) {
          const headers = { ...ofOwnPage, [name]: value };
          const { status } = await call({ ...sampleRequests[kind], headers });
          statuses.add(status);
        }
      }
    }

    expect(lookups).toEqual([]);
    expect([...statuses]).toEqual([401]);
    expect(upstream.calls).toEqual([]);
  });

  it.each([
    ['nobody is signed in', undefined],
    ['the user is disabled', { ...user, disabled: true }],
    ['the session has expired', { ...user, expiresAtMs: 1 }],
  ])('gets 401 where %s', async (_case, found) => {
    const { call, state } = gateway({ sessions: { find: () => found } });

    const { status, text } = await call({ ...chat(), headers: ofOwnPage });

    expect([status, JSON.parse(text).error.code]).toEqual([401, 'invalid_api_key']);
    expect(text).toContain('nobody is signed in');
    expect(await state()).toEqual(untouched);
  });

  it.each(failures)('gets 503, never 401, where the store $how', async ({ fail }) => {
    const { call, clock, events } = gateway({ sessions: { find: fail } });

    const { status } = await inTime(clock, call({ ...chat(), headers: ofOwnPage }));

    expect(status).toBe(503);
    expect(events).toMatchObject([{ type: 'port_failed', port: 'sessions', operation: 'find' }]);
  });

  it('is refused with the usual text where the host has not opted in', async () => {
    const { call } = gatewayInProcess();

    const { status, text } = await call({ ...chat(), headers: ofOwnPage, withoutKey: true });

    expect(status).toBe(401);
    expect(text).toContain('No API key was found. Send the complete key');
  });

  it('needs an origin that the host listed from browsers without sec-fetch-site', async () => {
    const { 'sec-fetch-site': _site, ...old } = ofOwnPage;
    const statusOf = async (origins: readonly string[] | undefined): Promise<number> => {
      const { call } = gateway({
        sessions: { find: () => user, ...(origins === undefined ? {} : { origins }) },
        handlers: [completeReply('chat')],
      });
      return (await call({ ...chat(), headers: old })).status;
    };

    expect([
      await statusOf([own]),
      await statusOf(['https://other.example', own]),
      await statusOf([]),
      await statusOf(undefined),
      await statusOf(['https://other.example']),
    ]).toEqual([200, 200, 401, 401, 401]);
  });
});

/** What another site, or a browser without a page, can make a request of a user's browser say. */
const foreign = {
  'content-type': [
    undefined,
    '',
    'application/x-www-form-urlencoded',
    'multipart/form-data; boundary=----application/json',
    'text/plain',
    'text/plain; charset=application/json',
    'text/plain;application/json',
    'text/plain, application/json',
    'application/json',
    'application/json; charset=utf-8',
  ],
  'sec-fetch-site': [
    undefined,
    '',
    'cross-site',
    'same-site',
    'none',
    'same-origin, cross-site',
    'cross-site, same-origin',
    'SAME-ORIGIN',
  ],
  origin: [
    undefined,
    '',
    'null',
    'https://evil.example',
    'https://app.example.evil.example',
    'https://evil-app.example',
    'http://app.example',
    'https://app.example:444',
    'https://app.example, https://evil.example',
    'https://APP.example',
  ],
};

describe('a request that another site causes', () => {
  it.each([
    'POST',
    'GET',
    'HEAD',
    'PUT',
  ])('spends nothing, with any headers: %s', async (method) => {
    const { call, lookups, state, upstream } = gateway({});
    const statuses = new Set<number>();
    for (const type of foreign['content-type']) {
      for (const site of foreign['sec-fetch-site']) {
        for (const origin of foreign.origin) {
          const headers = withoutMissing({
            cookie,
            'content-type': type,
            'sec-fetch-site': site,
            origin,
          });
          const path = method === 'POST' ? '/v1/chat/completions' : '/v1/models';
          const { status } = await call({ ...chat(), method, path, headers });
          statuses.add(status);
        }
      }
    }

    expect([...statuses]).toEqual([method === 'PUT' ? 405 : 401]);
    expect(lookups).toEqual([]);
    expect(upstream.calls).toEqual([]);
    expect(await state()).toEqual(untouched);
  });

  it('spends nothing as a form, even if its origin is the app’s own', async () => {
    const { call, lookups } = gateway({});
    const types = foreign['content-type'].filter((type) => !type?.startsWith('application/json'));
    for (const type of types) {
      for (const site of [undefined, 'same-origin']) {
        const headers = { cookie, 'content-type': type, 'sec-fetch-site': site, origin: own };
        expect((await call({ ...chat(), headers: withoutMissing(headers) })).status).toBe(401);
      }
    }

    expect(lookups).toEqual([]);
  });
});

interface SessionGateway extends InProcessGateway {
  /** The requests for which the session store was called. */
  readonly lookups: readonly KeyRequest[];
}

/** A gateway that takes sessions. Its callers send no key, unless a test sets the header. */
function gateway({
  sessions,
  handlers = [],
  nativeKeyHeaders = ['x-goog-api-key'],
}: {
  readonly sessions?: SessionStore;
  readonly nativeKeyHeaders?: readonly string[];
  readonly handlers?: readonly CallHandler[];
}): SessionGateway {
  const lookups: KeyRequest[] = [];
  const bySession: SessionStore = {
    origins: [own],
    find: (request) => {
      lookups.push(request);
      return request.headers.cookie === cookie ? user : undefined;
    },
  };
  const harness = gatewayInProcess({
    handlers,
    options: { sessions: sessions ?? bySession, nativeKeyHeaders },
  });
  const call: InProcessGateway['call'] = (request) =>
    harness.call({ ...request, withoutKey: true });
  return { ...harness, call, lookups };
}

function withoutMissing(headers: Readonly<Record<string, string | undefined>>): Headers {
  const sent: Record<string, string> = {};
  for (const [name, value] of Object.entries(headers)) if (value !== undefined) sent[name] = value;
  return sent;
}
