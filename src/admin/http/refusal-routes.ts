/** The routes of reports on recorded refusals. */
import { z } from 'zod';
import { protocolNames } from '../../apis.ts';
import { errorCodes } from '../../errors.ts';
import { failureReasons } from '../../failure-reasons.ts';
import { type RefusalReportQuery, refusalGroupings } from '../../stores/sql/refusal-report.ts';
import { type Route, route } from './route.ts';
import { get, given, integer, numberOf, pairPattern, shortText } from './shapes.ts';

const wanted = 'must be one or two groupings: code,reason';

const groupings = z
  .string(wanted)
  .max(64)
  .refine((text) => groupingsOf(text) !== undefined, wanted)
  .meta({ pattern: pairPattern(refusalGroupings) });

const report = z.strictObject({
  by: groupings,
  fromMs: integer,
  toMs: integer,
  keyId: shortText.optional(),
  group: shortText.optional(),
  modelId: shortText.optional(),
  protocol: z.enum(protocolNames).optional(),
  code: z.enum(errorCodes).optional(),
  reason: z.enum(failureReasons).optional(),
});

export const refusalRoutes: readonly Route[] = [
  route({
    ...get,
    path: '/refusals',
    summary: 'Sums of the recorded refusals by one or two groupings: by=code,reason',
    query: report.extend({
      after: z.string().max(256).optional(),
      limit: integer.optional(),
      sort: z.enum(['refusals', 'name']).optional(),
    }),
    reply: 'Refusals',
    run: async ({ admin, query: { sort, after, limit, ...rest } }) => ({
      json: await admin.refusals.report({
        ...queryOf(rest),
        ...given({ sort, after, limit: numberOf(limit) }),
      }),
    }),
  }),
  route({
    ...get,
    path: '/refusals/reasons',
    summary: 'Why requests were refused lately: by the log, else by this process',
    query: z.strictObject({
      fromMs: integer,
      keyId: shortText.optional(),
      modelId: shortText.optional(),
      code: shortText.optional(),
    }),
    reply: 'RefusalReasons',
    run: async ({ admin, query: { fromMs, ...names } }) => ({
      json: { data: await admin.refusals.reasons({ fromMs: Number(fromMs), ...given(names) }) },
    }),
  }),
  route({
    ...get,
    path: '/refusals.csv',
    summary: 'All rows of /refusals as CSV',
    query: report,
    run: async ({ admin, query }) => ({
      csv: admin.refusals.csv(queryOf(query)),
      fileName: 'refusals.csv',
    }),
  }),
];

function queryOf({ by, fromMs, toMs, ...names }: z.infer<typeof report>): RefusalReportQuery {
  // The schema has refused any other text.
  const pair = groupingsOf(by) ?? 'code';
  return { by: pair, fromMs: Number(fromMs), toMs: Number(toMs), ...given(names) };
}

function groupingsOf(text: string): RefusalReportQuery['by'] | undefined {
  const [first, second, third] = text
    .split(',')
    .map((name) => refusalGroupings.find((grouping) => grouping === name));
  if (first === undefined || third !== undefined || first === second) return undefined;
  if (!text.includes(',')) return first;
  return second === undefined ? undefined : [first, second];
}
