/** The routes of calls, of reports and of the live figures. */
import { z } from 'zod';
import { callOutcomes } from '../../ports/usage-sink.ts';
import type { UsageFilter, UsageReportQuery } from '../../stores/sql/usage-report.ts';
import { AdminError, invalid } from '../admin-error.ts';
import { type Route, route } from './route.ts';
import {
  anId,
  get,
  given,
  groupingPair,
  groupingsOf,
  integer,
  name,
  nanos,
  nowQuery,
  numberOf,
  outcome,
  post,
  shortText,
} from './shapes.ts';

const filter = {
  fromMs: integer.optional(),
  toMs: integer.optional(),
  keyId: shortText.optional(),
  group: shortText.optional(),
  modelId: shortText.optional(),
  channelId: shortText.optional(),
  outcome: outcome.optional(),
};
const paging = { after: z.string().max(256).optional(), limit: integer.optional() };
const report = { ...filter, by: groupingPair, fromMs: integer, toMs: integer };

export const callRoutes: readonly Route[] = [
  route({
    ...get,
    path: '/now',
    summary: 'Figures of this process, or of the log for 24h and 30d, and what needs a person',
    query: nowQuery,
    reply: 'Now',
    run: async ({ admin, query: { range } }) => ({ json: await admin.now(range) }),
  }),
  route({
    ...get,
    path: '/calls',
    summary: 'Calls of the log, and the refused requests that this process remembers',
    query: z.strictObject({
      ...filter,
      outcome: z.enum([...callOutcomes, 'refused']).optional(),
      ...paging,
      requestId: shortText.optional(),
      code: shortText.optional(),
    }),
    reply: 'CallPage',
    run: async ({ admin, query: { requestId, code, outcome, after, limit, ...rest } }) => ({
      json: await admin.calls.list({
        ...filterOf(rest),
        ...given({ requestId, code, outcome, after, limit: numberOf(limit) }),
      }),
    }),
  }),
  route({
    ...get,
    path: '/calls.csv',
    summary: 'Calls of the log as CSV',
    query: z.strictObject({ ...filter, requestId: shortText.optional() }),
    run: async ({ admin, query: { requestId, ...rest }, signal }) => ({
      csv: admin.usage.callsCsv({ ...filterOf(rest), ...given({ requestId }) }, { signal }),
      fileName: 'calls.csv',
    }),
  }),
  route({
    ...get,
    path: '/calls/{id}',
    summary: 'Everything that is known about a request id',
    reply: 'CallsOfRequest',
    run: async ({ admin, id }) => ({ json: await admin.calls.find(id) }),
  }),
  route({
    ...post,
    path: '/calls/{id}/resolve',
    summary: 'Says whether a call in doubt ran, which ends its hold',
    action: 'call.resolve',
    body: z.strictObject({
      ran: z.boolean(),
      chargeNanos: nanos.optional(),
      reservationId: shortText.optional(),
    }),
    reply: 'Resolution',
    run: async ({ admin, access, id, body: { ran, chargeNanos, reservationId } }) => {
      if (!ran && chargeNanos !== undefined) {
        throw invalid('chargeNanos', 'A call that did not run is not charged.');
      }
      const charge = chargeNanos === undefined ? {} : { chargeNanos: BigInt(chargeNanos) };
      const found = ran ? ({ ran, ...charge } as const) : ({ ran } as const);
      const resolution = { ...found, ...given({ reservationId }) };
      return { json: await admin.calls.resolve(access.actor, id, resolution) };
    },
  }),
  route({
    ...get,
    path: '/usage',
    summary: 'Sums of the log by one or two groupings: by=key,model',
    query: z.strictObject({ ...report, ...paging, sort: z.enum(['charge', 'name']).optional() }),
    reply: 'Usage',
    run: async ({ admin, query: { by, sort, after, limit, ...rest }, signal }) => {
      const page = given({ sort, after, limit: numberOf(limit) });
      return { json: await admin.usage.report({ ...reportOf(by, rest), ...page }, { signal }) };
    },
  }),
  route({
    ...get,
    path: '/usage.csv',
    summary: 'All rows of /usage as CSV',
    query: z.strictObject(report),
    run: async ({ admin, query: { by, ...rest }, signal }) => ({
      csv: admin.usage.reportCsv(reportOf(by, rest), { signal }),
      fileName: 'usage.csv',
    }),
  }),
  route({
    ...get,
    path: '/books',
    summary: 'Where the log and the quota store differ in a period',
    query: z.strictObject({
      period: z
        .string()
        .regex(/^(?:\d{4}-\d{2}(?:-\d{2})?)?$/, 'must be a month or a day, or empty')
        .refine(isPeriod, 'must be a month or a day that exists'),
      subject: anId.optional(),
      partition: name.optional(),
    }),
    reply: 'Books',
    run: async ({ admin, query: { period, ...rest }, signal }) => ({
      json: { data: await admin.usage.books({ period, ...given(rest) }, { signal }) },
    }),
  }),
];

/** A month or a day of the calendar, or the whole time. */
function isPeriod(text: string): boolean {
  if (text === '') return true;
  const time = new Date(text.length === 7 ? `${text}-01` : text);
  return !Number.isNaN(time.getTime()) && time.toISOString().startsWith(text);
}

type FilterTexts = {
  [Name in keyof UsageFilter]:
    | (Name extends 'fromMs' | 'toMs' ? string : UsageFilter[Name])
    | undefined;
};

function filterOf({ fromMs, toMs, ...names }: FilterTexts): UsageFilter {
  return given({ ...names, fromMs: numberOf(fromMs), toMs: numberOf(toMs) });
}

function reportOf(
  by: string,
  { fromMs, toMs, ...names }: FilterTexts & { readonly fromMs: string; readonly toMs: string },
): UsageReportQuery {
  const groupings = groupingsOf(by);
  if (groupings === undefined) throw new AdminError('invalid_request', 'by is not valid.');
  return { ...filterOf(names), by: groupings, fromMs: Number(fromMs), toMs: Number(toMs) };
}
