/** The routes of keys and of their owners. */
import { z } from 'zod';
import type { ApiKey } from '../../ports/keys/key-store.ts';
import type { Admin } from '../admin.ts';
import { maxBatchRows } from '../keys/batch.ts';
import {
  anId,
  checkedRows,
  get,
  keyRates,
  labels,
  limitPeriod,
  nanos,
  ownerRates,
  paging,
  post,
  type Route,
  route,
  schemaOf,
  shortText,
  signedNanos,
} from './route.ts';

const count = z.int().positive();
const models = z.array(shortText).min(1).max(256);

const issueBody = z.strictObject({
  id: anId.exactOptional(),
  group: shortText,
  models: models.exactOptional(),
  owner: anId.exactOptional(),
  limitNanos: nanos.exactOptional(),
  ...limitPeriod,
  expiresAtMs: count.exactOptional(),
  maxConcurrentCalls: count.exactOptional(),
  rates: keyRates.exactOptional(),
  metadata: labels.exactOptional(),
  quota: z
    .array(
      z.strictObject({
        id: anId,
        ...limitPeriod,
        period: limitPeriod.period.unwrap(),
        limitNanos: nanos.exactOptional(),
        models: models.exactOptional(),
        maxConcurrentCalls: count.exactOptional(),
        visible: z.boolean().exactOptional(),
      }),
    )
    .max(8)
    .exactOptional(),
});

const keyQuery = z.strictObject({
  q: z.string().max(128).exactOptional(),
  group: shortText.exactOptional(),
  owner: anId.exactOptional(),
  metadata: labels.exactOptional(),
  disabled: z
    .enum(['true', 'false'])
    .transform((text) => text === 'true')
    .exactOptional(),
  sort: z.enum(['id', 'used', 'left', 'lastUsed']).exactOptional(),
  ...paging,
});

/** `metadata.user=ada`, or `metadata[user]=ada` as clients of the document send it. */
function withMetadata(query: unknown): unknown {
  const labelled: (readonly [string, unknown])[] = [];
  const rest: (readonly [string, unknown])[] = [];
  for (const [name, value] of Object.entries(query ?? {})) {
    const [, dotted, bracketed] = /^metadata(?:\.(.+)|\[(.+)\])$/s.exec(name) ?? [];
    const label = dotted ?? bracketed;
    if (label === undefined) rest.push([name, value]);
    else labelled.push([label, value]);
  }
  const metadata = Object.fromEntries(labelled);
  return Object.fromEntries(labelled.length === 0 ? rest : [...rest, ['metadata', metadata]]);
}

/** Documented as what it must be; the route checks the rows in several turns. */
const aRow = z.unknown().meta(schemaOf(issueBody));

/** 5,000 keys with some labels each. */
const maxBatchBytes = 4 * 1_048_576;

export const keyRoutes: readonly Route[] = [
  route({
    ...get,
    path: '/keys',
    summary: 'Keys with their balances; q also searches owners and metadata, ignoring case',
    query: z.preprocess(withMetadata, keyQuery),
    reply: 'KeyPage',
    run: ({ admin, query: { q, ...query } }) =>
      admin.keys.list(q === undefined ? query : { ...query, search: q }),
  }),
  route({
    ...get,
    path: '/keys/{id}',
    summary: 'A key with its balances',
    reply: 'Key',
    run: ({ admin, id }) => admin.keys.find(id),
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
      return issuedReply(secret, key, admin);
    },
  }),
  route({
    ...post,
    path: '/keys/batch',
    summary: 'Issues up to 5,000 keys, or none if a row is wrong; a repeat issues what is missing',
    action: 'key.batch',
    body: z.strictObject({ batch: anId, keys: z.array(aRow).min(1).max(maxBatchRows) }),
    maxBodyBytes: maxBatchBytes,
    reply: 'IssuedBatch',
    status: 201,
    run: async ({ admin, access, body: { batch, keys } }) =>
      admin.keys.issueBatch(access.actor, batch, await checkedRows(issueBody, keys)),
  }),
  route({
    ...post,
    path: '/keys/{id}/edit',
    summary: 'Changes members of a key; null removes one',
    action: 'key.edit',
    body: z.strictObject({
      group: shortText.exactOptional(),
      models: models.nullable().exactOptional(),
      rates: keyRates.nullable().exactOptional(),
      maxConcurrentCalls: count.nullable().exactOptional(),
      expiresAtMs: count.nullable().exactOptional(),
      metadata: labels.nullable().exactOptional(),
      owner: anId.nullable().exactOptional(),
    }),
    reply: 'Key',
    run: ({ admin, access, id, body }) => admin.keys.edit(access.actor, id, body),
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
      return { ...issuedReply(secret, key, admin), replaced };
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
    run: ({ admin, access, id, body }) => admin.keys.setLimit(access.actor, id, body),
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
    run: ({ admin, access, id, body }) => admin.keys.topUp(access.actor, id, body),
  }),
  route({
    ...post,
    path: '/keys/{id}/remove',
    summary: 'Removes a key for good',
    action: 'key.remove',
    reply: 'Removed',
    run: async ({ admin, access, id }) => {
      await admin.keys.remove(access.actor, id);
      return {};
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
    run: ({ admin, access, id }) => admin.keys[task](access.actor, id),
  });
}

function issuedReply(secret: string, { id, group, expiresAtMs }: ApiKey, { keys }: Admin) {
  return { secret, key: { id, expiresAtMs }, warning: keys.groupWarning(group) };
}

export const ownerRoutes: readonly Route[] = [
  route({
    ...get,
    path: '/owners',
    summary: 'Owners of keys with their balances, by id',
    query: z.strictObject({ q: z.string().max(128).exactOptional(), ...paging }),
    reply: 'OwnerPage',
    run: ({ admin, query: { q, ...query } }) =>
      admin.owners.list(q === undefined ? query : { ...query, search: q }),
  }),
  route({
    ...get,
    path: '/owners/{id}',
    summary: 'An owner with its balance and its first 100 keys',
    reply: 'OwnerDetail',
    run: ({ admin, id }) => admin.owners.find(id),
  }),
  route({
    ...post,
    path: '/owners',
    summary: 'Creates an owner, whose limit and rates all its keys share',
    action: 'owner.create',
    body: z.strictObject({
      id: anId,
      name: shortText.exactOptional(),
      limitNanos: nanos.exactOptional(),
      ...limitPeriod,
      rates: ownerRates.exactOptional(),
      metadata: labels.exactOptional(),
      disabled: z.boolean().exactOptional(),
    }),
    reply: 'Owner',
    status: 201,
    run: ({ admin, access, body }) => admin.owners.create(access.actor, body),
  }),
  route({
    ...post,
    path: '/owners/{id}/edit',
    summary: 'Changes members of an owner; null removes one',
    action: 'owner.edit',
    body: z.strictObject({
      name: shortText.nullable().exactOptional(),
      ...limitPeriod,
      anchorDay: limitPeriod.anchorDay.unwrap().nullable().exactOptional(),
      rates: ownerRates.nullable().exactOptional(),
      metadata: labels.nullable().exactOptional(),
      disabled: z.boolean().exactOptional(),
    }),
    reply: 'Owner',
    run: ({ admin, access, id, body }) => admin.owners.edit(access.actor, id, body),
  }),
  route({
    ...post,
    path: '/owners/{id}/limit',
    summary: 'Sets the limit of all keys of an owner together; null removes it',
    action: 'owner.limit',
    body: z.strictObject({ limitNanos: nanos.nullable() }),
    reply: 'Owner',
    run: ({ admin, access, id, body: { limitNanos } }) =>
      admin.owners.setLimit(access.actor, id, limitNanos),
  }),
  route({
    ...post,
    path: '/owners/{id}/top-up',
    summary: 'Adds money for the current period; a repeated id adds nothing',
    action: 'owner.top_up',
    body: z.strictObject({ id: z.string().min(1).max(200), amountNanos: signedNanos }),
    reply: 'ToppedUpOwner',
    run: ({ admin, access, id, body }) => admin.owners.topUp(access.actor, id, body),
  }),
  route({
    ...post,
    path: '/owners/{id}/remove',
    summary: 'Removes an owner that no key names',
    action: 'owner.remove',
    reply: 'Removed',
    run: async ({ admin, access, id }) => {
      await admin.owners.remove(access.actor, id);
      return {};
    },
  }),
];
