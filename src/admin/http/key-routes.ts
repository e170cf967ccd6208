/** The routes of keys. */
import { z } from 'zod';
import type { ApiKey } from '../../ports/key-store.ts';
import type { Admin } from '../admin.ts';
import { type Route, route } from './route.ts';
import {
  anId,
  get,
  given,
  integer,
  nanos,
  numberOf,
  post,
  shortText,
  signedNanos,
} from './shapes.ts';

const period = z.enum(['total', 'day', 'month']);
const count = z.int().positive();

const issueBody = z.strictObject({
  id: anId.optional(),
  group: shortText,
  limitNanos: nanos.optional(),
  period: period.optional(),
  expiresAtMs: count.optional(),
  maxConcurrentCalls: count.optional(),
  metadata: z.record(z.string().max(128), z.string().max(512)).optional(),
  quota: z
    .array(
      z.strictObject({
        id: anId,
        period,
        limitNanos: nanos.optional(),
        maxConcurrentCalls: count.optional(),
        visible: z.boolean().optional(),
      }),
    )
    .max(8)
    .optional(),
});

const listQuery = z.strictObject({
  q: z.string().max(128).optional(),
  group: shortText.optional(),
  disabled: z.enum(['true', 'false']).optional(),
  after: z.string().max(256).optional(),
  limit: integer.optional(),
});

export const keyRoutes: readonly Route[] = [
  route({
    ...get,
    path: '/keys',
    summary: 'Keys with their balances, by id',
    query: listQuery,
    reply: 'KeyPage',
    run: async ({ admin, query: { q, group, disabled, after, limit } }) => ({
      json: await admin.keys.list(
        given({
          search: q,
          group,
          after,
          disabled: disabled === undefined ? undefined : disabled === 'true',
          limit: numberOf(limit),
        }),
      ),
    }),
  }),
  route({
    ...get,
    path: '/keys/{id}',
    summary: 'A key with its balances',
    reply: 'Key',
    run: async ({ admin, id }) => ({ json: await admin.keys.find(id) }),
  }),
  route({
    ...post,
    path: '/keys',
    summary: 'Issues a key; the reply is the only place that ever shows its secret',
    action: 'key.issue',
    body: issueBody,
    reply: 'IssuedKey',
    status: 201,
    run: async ({ admin, access, body }) => {
      const { group, limitNanos, quota, ...rest } = body;
      const { secret, key } = await admin.keys.issue(access.actor, {
        group,
        ...given({
          ...rest,
          limitNanos: amount(limitNanos),
          quota: quota?.map(({ id, period, limitNanos: limit, ...other }) => ({
            id,
            period,
            ...given({ ...other, limitNanos: amount(limit) }),
          })),
        }),
      });
      return { json: issuedReply(secret, key, admin) };
    },
  }),
  route({
    ...post,
    path: '/keys/{id}/rotate',
    summary: 'Issues a key in place of this one, which stays valid for overlapMs',
    action: 'key.rotate',
    body: z.strictObject({ overlapMs: z.int().min(0).optional(), id: anId.optional() }),
    reply: 'RotatedKey',
    status: 201,
    run: async ({ admin, access, id, body }) => {
      const { secret, key, replaced } = await admin.keys.rotate(access.actor, id, given(body));
      return { json: { ...issuedReply(secret, key, admin), replaced } };
    },
  }),
  keySwitch('disable', 'Disables a key'),
  keySwitch('enable', 'Enables a key'),
  route({
    ...post,
    path: '/keys/{id}/limit',
    summary: 'Sets the limit of a subject of a key',
    action: 'key.limit',
    body: z.strictObject({ limitNanos: nanos, subject: anId.optional() }),
    reply: 'Key',
    run: async ({ admin, access, id, body: { limitNanos, subject } }) => {
      const change = { limitNanos: BigInt(limitNanos), ...given({ subject }) };
      return { json: await admin.keys.setLimit(access.actor, id, change) };
    },
  }),
  route({
    ...post,
    path: '/keys/{id}/top-up',
    summary: 'Adds money for the current period; a repeated id adds nothing',
    action: 'key.top_up',
    body: z.strictObject({
      id: z.string().min(1).max(200),
      amountNanos: signedNanos,
      subject: anId.optional(),
    }),
    reply: 'ToppedUpKey',
    run: async ({ admin, access, id, body: { id: topUpId, amountNanos, subject } }) => {
      const topUp = { id: topUpId, amountNanos: BigInt(amountNanos), ...given({ subject }) };
      return { json: await admin.keys.topUp(access.actor, id, topUp) };
    },
  }),
  route({
    ...post,
    path: '/keys/{id}/remove',
    summary: 'Removes a key for good',
    action: 'key.remove',
    reply: 'RemovedKey',
    run: async ({ admin, access, id }) => {
      await admin.keys.remove(access.actor, id);
      return { json: {} };
    },
  }),
];

function keySwitch(task: 'disable' | 'enable', summary: string): Route {
  return route({
    ...post,
    path: `/keys/{id}/${task}`,
    summary,
    action: `key.${task}`,
    reply: 'Key',
    run: async ({ admin, access, id }) => ({ json: await admin.keys[task](access.actor, id) }),
  });
}

function issuedReply(secret: string, { id, group, expiresAtMs }: ApiKey, { keys }: Admin) {
  return { secret, key: { id, expiresAtMs }, warning: keys.groupWarning(group) };
}

function amount(text: string | undefined): bigint | undefined {
  return text === undefined ? undefined : BigInt(text);
}
