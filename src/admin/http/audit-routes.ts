/** The routes of the audit trail, which is only read over HTTP. */
import { z } from 'zod';
import { get, integer, paging, type Route, route, shortText } from './route.ts';

const selected = {
  actor: shortText.exactOptional(),
  action: shortText.exactOptional(),
  target: shortText.exactOptional(),
  outcome: z.enum(['done', 'failed', 'refused']).exactOptional(),
  fromMs: integer.exactOptional(),
  toMs: integer.exactOptional(),
};

export const auditRoutes: readonly Route[] = [
  route({
    ...get,
    path: '/audit',
    summary: 'Changes by operators, the latest first; `action` also selects all of a kind: `key`',
    query: z.strictObject({ ...selected, ...paging }),
    reply: 'Audit',
    run: ({ admin, query }) => admin.audit.list(query),
  }),
  route({
    ...get,
    path: '/audit.csv',
    summary: 'The same as CSV, all of them',
    query: z.strictObject(selected),
    run: async ({ admin, query }) => ({ fileName: 'audit.csv', csv: admin.audit.csv(query) }),
  }),
];
