/** The routes of owners of keys. */
import { z } from 'zod';
import {
  anId,
  get,
  labels,
  limitPeriod,
  nanos,
  ownerRates,
  paging,
  post,
  type Route,
  route,
  shortText,
  signedNanos,
} from './route.ts';

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
