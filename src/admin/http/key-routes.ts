/** The routes of keys. */
import { z } from 'zod';
import type { ApiKey } from '../../ports/key-store.ts';
import type { Admin } from '../admin.ts';
import {
  anId,
  get,
  nanos,
  paging,
  post,
  type Route,
  route,
  shortText,
  signedNanos,
} from './route.ts';

const period = z.enum(['total', 'day', 'month']);
const count = z.int().positive();

const issueBody = z.strictObject({
  id: anId.exactOptional(),
  group: shortText,
  limitNanos: nanos.exactOptional(),
  period: period.exactOptional(),
  expiresAtMs: count.exactOptional(),
  maxConcurrentCalls: count.exactOptional(),
  metadata: z.record(z.string().max(128), z.string().max(512)).exactOptional(),
  quota: z
    .array(
      z.strictObject({
        id: anId,
        period,
        limitNanos: nanos.exactOptional(),
        maxConcurrentCalls: count.exactOptional(),
        visible: z.boolean().exactOptional(),
      }),
    )
    .max(8)
    .exactOptional(),
});

export const keyRoutes: readonly Route[] = [
  route({
    ...get,
    path: '/keys',
    summary: 'Keys with their balances, by id',
    query: z.strictObject({
      q: z.string().max(128).exactOptional(),
      group: shortText.exactOptional(),
      disabled: z
        .enum(['true', 'false'])
        .transform((text) => text === 'true')
        .exactOptional(),
      ...paging,
    }),
    reply: 'KeyPage',
    run: async ({ admin, query: { q, ...query } }) => ({
      json: await admin.keys.list(q === undefined ? query : { ...query, search: q }),
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
      const { secret, key } = await admin.keys.issue(access.actor, body);
      return { json: issuedReply(secret, key, admin) };
    },
  }),
  route({
    ...post,
    path: '/keys/{id}/rotate',
    summary: 'Issues a key in place of this one, which stays valid for overlapMs',
    action: 'key.rotate',
    body: z.strictObject({ overlapMs: z.int().min(0).exactOptional(), id: anId.exactOptional() }),
    reply: 'RotatedKey',
    status: 201,
    run: async ({ admin, access, id, body }) => {
      const { secret, key, replaced } = await admin.keys.rotate(access.actor, id, body);
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
    body: z.strictObject({ limitNanos: nanos, subject: anId.exactOptional() }),
    reply: 'Key',
    run: async ({ admin, access, id, body }) => ({
      json: await admin.keys.setLimit(access.actor, id, body),
    }),
  }),
  route({
    ...post,
    path: '/keys/{id}/top-up',
    summary: 'Adds money for the current period; a repeated id adds nothing',
    action: 'key.top_up',
    body: z.strictObject({
      id: z.string().min(1).max(200),
      amountNanos: signedNanos,
      subject: anId.exactOptional(),
    }),
    reply: 'ToppedUpKey',
    run: async ({ admin, access, id, body }) => ({
      json: await admin.keys.topUp(access.actor, id, body),
    }),
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
