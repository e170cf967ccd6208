/** The routes of calls, of recorded refusals, of reports and of the live figures. */
import { z } from 'zod';
import { protocolNames } from '../../apis.ts';
import { errorCodes } from '../../errors.ts';
import { failureReasons } from '../../failure-reasons.ts';
import { isPeriod, periodName } from '../../ports/limits/quota-input.ts';
import { matching } from '../../ports/set-up.ts';
import { callOutcomes } from '../../ports/usage-sink.ts';
import { refusalGroupings } from '../../stores/sql/refusal-report.ts';
import { columnGroupings } from '../../stores/sql/usage/report.ts';
import { invalid } from '../admin-error.ts';
import type { NamesOf } from '../names.ts';
import {
  anId,
  get,
  groupings,
  integer,
  metadataFilter,
  nanos,
  nowQuery,
  paging,
  post,
  type Route,
  route,
  selection,
  shortText,
  usageGroupingOf,
} from './route.ts';

const filter = {
  fromMs: integer.exactOptional(),
  toMs: integer.exactOptional(),
  ...selection,
  channelId: shortText.exactOptional(),
  outcome: z.enum(callOutcomes).exactOptional(),
  metadata: metadataFilter.exactOptional(),
};
const requestId = shortText.exactOptional();
const nameKinds = ['key', 'model', 'channel', 'group', 'code', 'metadata'] as const;
const namesForm = 'must be key, model, channel, group, code, metadata or metadata.<name>';
const names = [...columnGroupings, 'metadata\\.[^,]+'];
const keysForm = 'must be one or two groupings: key,model';
const report = {
  ...filter,
  by: groupings({ form: keysForm, maxLength: 300, names }, usageGroupingOf),
  fromMs: integer,
  toMs: integer,
};
/** The last time of JavaScript's calendar. */
const maxDateMs = 8.64e15;
const oneForm = 'must be one grouping: key';
const oneGrouping = z
  .string(oneForm)
  .max(150)
  .meta({ pattern: `^(${names.join('|')})$` })
  .transform((text, { addIssue }) => {
    const by = usageGroupingOf(text);
    if (by === undefined) addIssue({ code: 'custom', message: oneForm });
    return by ?? z.NEVER;
  });
const steps = {
  ...filter,
  fromMs: integer,
  toMs: integer,
  step: z.enum(['hour', 'day']),
};

export const callRoutes: readonly Route[] = [
  route({
    ...get,
    path: '/now',
    summary: 'Figures of this process, or of the log for 24h and 30d, and what needs a person',
    query: nowQuery,
    reply: 'Now',
    run: ({ admin, query: { range } }) => admin.now(range),
  }),
  route({
    ...get,
    path: '/calls',
    summary: 'Calls of the log, and the refused requests that this process remembers',
    query: z.strictObject({
      ...filter,
      outcome: z.enum([...callOutcomes, 'refused']).exactOptional(),
      ...paging,
      requestId,
      code: shortText.exactOptional(),
    }),
    reply: 'CallPage',
    run: ({ admin, query }) => admin.calls.list(query),
  }),
  route({
    ...get,
    path: '/calls.csv',
    summary: 'Calls of the log as CSV',
    query: z.strictObject({ ...filter, requestId }),
    run: ({ admin, query, signal }) => ({
      csv: admin.usage.callsCsv(query, { signal }),
      fileName: 'calls.csv',
    }),
  }),
  route({
    ...get,
    path: '/calls/{id}',
    summary: 'Everything that is known about a request id',
    reply: 'CallsOfRequest',
    run: ({ admin, id }) => admin.calls.find(id),
  }),
  route({
    ...post,
    path: '/calls/{id}/resolve',
    summary: 'Says whether a call in doubt ran, which ends its hold',
    action: 'call.resolve',
    body: z.strictObject({
      ran: z.boolean(),
      chargeNanos: nanos.exactOptional(),
      reservationId: shortText.exactOptional(),
    }),
    reply: 'Resolution',
    run: async ({ admin, access, id, body: { ran, chargeNanos, ...rest } }) => {
      if (!ran && chargeNanos !== undefined) {
        throw invalid('chargeNanos', 'A call that did not run is not charged.');
      }
      const charge = chargeNanos === undefined ? {} : { chargeNanos };
      const resolution = ran ? { ran, ...charge, ...rest } : { ran, ...rest };
      return admin.calls.resolve(access.actor, id, resolution);
    },
  }),
  route({
    ...get,
    path: '/names',
    summary: 'Up to 50 names of keys, models and the like that have a text: of=key&q=team',
    query: z.strictObject({
      of: z
        .string(namesForm)
        .max(256)
        .regex(/^(?:key|model|channel|group|code|metadata(?:\..+)?)$/s, namesForm)
        .transform(namesOf),
      q: shortText.exactOptional(),
    }),
    reply: 'Names',
    run: async ({ admin, query }) => ({ data: await admin.names(query) }),
  }),
  route({
    ...get,
    path: '/usage',
    summary: 'Sums of the log by one or two groupings: by=key,model',
    query: z.strictObject({
      ...report,
      ...paging,
      sort: z.enum(['charge', 'name', 'time']).exactOptional(),
    }),
    reply: 'Usage',
    run: ({ admin, query, signal }) => admin.usage.report(query, { signal }),
  }),
  route({
    ...get,
    path: '/usage.csv',
    summary: 'All rows of /usage as CSV',
    query: z.strictObject(report),
    run: ({ admin, query, signal }) => ({
      csv: admin.usage.reportCsv(query, { signal }),
      fileName: `usage-${dayOf(query.fromMs)}-to-${dayOf(query.toMs - 1)}.csv`,
    }),
  }),
  route({
    ...get,
    path: '/usage/series',
    summary: 'Sums of the log by hour or day, divided by the largest names of a grouping',
    query: z.strictObject({
      ...steps,
      by: oneGrouping.exactOptional(),
      top: integer.exactOptional(),
      measure: z.enum(['charge', 'calls', 'tokens']).exactOptional(),
    }),
    reply: 'UsageSeries',
    run: ({ admin, query, signal }) => admin.usage.series(query, { signal }),
  }),
  route({
    ...get,
    path: '/usage/latencies',
    summary: 'How long the calls of the log took, by hour or day',
    query: z.strictObject(steps),
    reply: 'UsageLatencies',
    run: ({ admin, query, signal }) => admin.usage.latencies(query, { signal }),
  }),
  route({
    ...get,
    path: '/books',
    summary: 'Where the log and the quota store differ in a period',
    query: z.strictObject({
      period: z.string().refine(namesPeriod, 'must be a day, week or month that exists, or empty'),
      subject: anId.exactOptional(),
      partition: matching(
        /^[A-Za-z0-9._-]{1,64}$/,
        'must match [A-Za-z0-9._-]{1,64}',
      ).exactOptional(),
    }),
    reply: 'Books',
    run: async ({ admin, query, signal }) => ({ data: await admin.usage.books(query, { signal }) }),
  }),
];

function dayOf(ms: number): string {
  return new Date(Math.min(ms, maxDateMs)).toISOString().slice(0, 10);
}

/** A period of the calendar, named as the quota store does, or the whole time. */
function namesPeriod(text: string): boolean {
  if (text === '' || !isPeriod(text)) return text === '';
  const [year = 0, part = 0, day] = text.split(/-W|[-.]/).map(Number);
  if (text.includes('W')) return part >= 1 && part <= (isLongYear(year) ? 53 : 52);
  const maxDay = text.includes('.') ? 31 : new Date(Date.UTC(year, part, 0)).getUTCDate();
  return part >= 1 && part <= 12 && (day === undefined || (day >= 1 && day <= maxDay));
}

/** Whether a year has 53 ISO weeks: 28 December is always in the last one. */
function isLongYear(year: number): boolean {
  return periodName({ period: 'week' }, Date.UTC(year, 11, 28)).endsWith('53');
}

/** The kind of names of a text that has its form. */
function namesOf(text: string): NamesOf {
  const kind = nameKinds.find((known) => known === text);
  return kind ?? `metadata.${text.slice('metadata.'.length)}`;
}

const reasonsForm = 'must be one or two groupings: code,reason';
const refusalReport = z.strictObject({
  by: groupings({ form: reasonsForm, maxLength: 64, names: refusalGroupings }, (text) =>
    refusalGroupings.find((grouping) => grouping === text),
  ).refine((pair) => typeof pair === 'string' || pair[0] !== pair[1], reasonsForm),
  fromMs: integer,
  toMs: integer,
  ...selection,
  protocol: z.enum(protocolNames).exactOptional(),
  code: z.enum(errorCodes).exactOptional(),
  reason: z.enum(failureReasons).exactOptional(),
});

export const refusalRoutes: readonly Route[] = [
  route({
    ...get,
    path: '/refusals',
    summary: 'Sums of the recorded refusals by one or two groupings: by=code,reason',
    query: refusalReport.extend({ ...paging, sort: z.enum(['refusals', 'name']).exactOptional() }),
    reply: 'Refusals',
    run: ({ admin, query }) => admin.refusals.report(query),
  }),
  route({
    ...get,
    path: '/refusals/reasons',
    summary: 'Why requests were refused lately: by the log, else by this process',
    query: z.strictObject({
      fromMs: integer,
      toMs: integer.exactOptional(),
      ...selection,
      code: shortText.exactOptional(),
    }),
    reply: 'RefusalReasons',
    run: async ({ admin, query }) => ({ data: await admin.refusals.reasons(query) }),
  }),
  route({
    ...get,
    path: '/refusals.csv',
    summary: 'All rows of /refusals as CSV',
    query: refusalReport,
    run: async ({ admin, query }) => ({
      csv: admin.refusals.csv(query),
      fileName: 'refusals.csv',
    }),
  }),
];
