// suite: quick
/** What a key store learns of the request whose key it is asked for. */
import { expect, it } from 'vitest';
import type { KeyLookupOptions } from '../../../src/ports/keys/key-store.ts';
import { cachedKeyStore } from '../../../src/stores/cached-key-store.ts';
import { gatewayInProcess } from '../../support/gateway-in-process.ts';
import { completeReply, kinds, sampleRequests } from '../../support/models.ts';

const key = {
  id: 'caller',
  group: 'staff',
  disabled: false,
  quota: [{ id: 'caller', period: 'total', limitNanos: 1_000_000n }],
} as const;

it.each(kinds)('a key store gets the method, path and headers of a call: %s', async (kind) => {
  const lookups: (KeyLookupOptions | undefined)[] = [];
  const { call } = gatewayInProcess({
    handlers: [completeReply(kind)],
    options: {
      keys: {
        find: (_secret, options) => {
          lookups.push(options);
          return key;
        },
      },
    },
  });

  await call({ ...sampleRequests[kind], headers: { 'x-tenant': 'acme' } });

  const [lookup] = lookups;
  expect(lookup).toMatchObject({
    timeoutMs: 1_000,
    request: {
      method: 'POST',
      path: sampleRequests[kind].path,
      headers: { 'x-tenant': 'acme', authorization: 'Bearer caller-secret' },
    },
  });
  expect(Object.isFrozen(lookup?.request)).toBe(true);
});

it('a key store that changes what it gets does not change the call', async () => {
  const { call, records, nextRecord } = gatewayInProcess({
    handlers: [completeReply('chat'), completeReply('chat')],
    options: {
      keys: {
        find: (_secret, options) => {
          Reflect.set(options?.request ?? {}, 'path', '/v1/images/generations');
          Reflect.deleteProperty(options?.request?.headers ?? {}, 'idempotency-key');
          return key;
        },
      },
    },
  });
  const request = { ...sampleRequests.chat, headers: { 'idempotency-key': 'order-4711' } };

  const replies = [await call(request), await call(request)];
  await nextRecord();

  expect(replies.map(({ status }) => status)).toEqual([200, 200]);
  expect(records).toHaveLength(1);
});

it('behind a cache, the store learns of the request what vary names, per tenant', async () => {
  const lookups: unknown[] = [];
  const keys = cachedKeyStore(
    {
      find: (_secret, options) => {
        lookups.push(options?.request?.headers['x-tenant']);
        return { ...key, disabled: options?.request?.headers['x-tenant'] !== 'acme' };
      },
    },
    { vary: ({ headers }) => String(headers['x-tenant']) },
  );
  const { call } = gatewayInProcess({
    handlers: Array.from({ length: 4 }, () => completeReply('chat')),
    options: { keys },
  });

  const statuses = [];
  for (const tenant of ['acme', 'other', 'acme', 'other']) {
    statuses.push((await call({ ...sampleRequests.chat, headers: { 'x-tenant': tenant } })).status);
  }

  expect(statuses).toEqual([200, 401, 200, 401]);
  expect(lookups).toEqual(['acme', 'other']);
});
