/**
 * F23: every form in which upstreams state how long to wait, the caller's `Retry-After`, and the
 * cooldown of the channel.
 */

import { everywhere, notRun } from '../classes.ts';
import { isNative, type Kind, kinds } from '../kinds.ts';
import { refuses } from '../responses.ts';
import type { FaultRow } from './row.ts';

/** One form of a wait. The clock stands at 1 January 2026, 00:00 UTC. */
interface Form {
  readonly form: string;
  readonly headers?: Readonly<Record<string, string | number>>;
  /** The member `details` of Google's error. */
  readonly details?: readonly object[];
  /** The caller's `retry-after`: the cooldown of the channel. */
  readonly seconds: number;
  /** The cooldown of this model on the channel: 1 s to 1 h, 10 s without a valid value. */
  readonly restMs: number;
}

const unsaid = { seconds: 10, restMs: 10_000 } as const;

const forms: readonly Form[] = [
  { form: 'no wait stated', ...unsaid },
  { form: 'seconds', headers: { 'retry-after': 7 }, seconds: 7, restMs: 7_000 },
  { form: 'no second at all', headers: { 'retry-after': 0 }, seconds: 1, restMs: 1_000 },
  { form: 'a decimal', headers: { 'retry-after': '2.5' }, seconds: 3, restMs: 2_500 },
  { form: 'an hour', headers: { 'retry-after': 3_600 }, seconds: 3_600, restMs: 3_600_000 },
  { form: 'a day', headers: { 'retry-after': 86_400 }, seconds: 3_600, restMs: 3_600_000 },
  { form: '30 years', headers: { 'retry-after': 1e9 }, seconds: 3_600, restMs: 3_600_000 },
  { form: '1e9, spelt so', headers: { 'retry-after': '1e9' }, ...unsaid },
  { form: 'a negative number', headers: { 'retry-after': -5 }, ...unsaid },
  { form: 'a word', headers: { 'retry-after': 'soon' }, ...unsaid },
  { form: 'nothing', headers: { 'retry-after': '' }, ...unsaid },
  { form: 'two numbers', headers: { 'retry-after': '5, 9' }, ...unsaid },
  {
    form: 'a date to come',
    headers: { 'retry-after': 'Thu, 01 Jan 2026 00:00:30 GMT' },
    seconds: 30,
    restMs: 30_000,
  },
  {
    form: 'a date to come, by the upstream’s own clock',
    headers: {
      date: 'Wed, 01 Jan 2025 00:00:10 GMT',
      'retry-after': 'Wed, 01 Jan 2025 00:00:30 GMT',
    },
    seconds: 20,
    restMs: 20_000,
  },
  {
    form: 'a date gone by',
    headers: { 'retry-after': 'Wed, 31 Dec 2025 23:00:00 GMT' },
    seconds: 1,
    restMs: 1_000,
  },
  { form: 'a date that is none', headers: { 'retry-after': 'Thu, 99 Foo 2026' }, ...unsaid },
  { form: 'milliseconds', headers: { 'retry-after-ms': 2_500 }, seconds: 3, restMs: 2_500 },
  {
    form: 'milliseconds and seconds',
    headers: { 'retry-after-ms': 1_500, 'retry-after': 40 },
    seconds: 2,
    restMs: 1_500,
  },
  {
    form: 'milliseconds that are none, and seconds',
    headers: { 'retry-after-ms': 'many', 'retry-after': 40 },
    seconds: 40,
    restMs: 40_000,
  },
];

const retryInfo = (retryDelay: string): readonly object[] => [
  { '@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay },
];

const googleForms: readonly Form[] = [
  { form: 'RetryInfo', details: retryInfo('34.07s'), seconds: 35, restMs: 34_070 },
  { form: 'RetryInfo that is none', details: retryInfo('a while'), ...unsaid },
  {
    form: 'RetryInfo and a header',
    details: retryInfo('12s'),
    headers: { 'retry-after': 50 },
    seconds: 50,
    restMs: 50_000,
  },
  {
    form: 'a header and a longer RetryInfo',
    details: retryInfo('12s'),
    headers: { 'retry-after': 5 },
    seconds: 12,
    restMs: 12_000,
  },
];

const nativeKinds: readonly Kind[] = kinds.filter(isNative);

/** The rows. */
export const rowsRetryAfter: readonly FaultRow[] = [
  ...forms.map(rowOf),
  ...googleForms.map((form) => ({ ...rowOf(form), kinds: nativeKinds })),
];

function rowOf({ form, headers = {}, details, seconds, restMs }: Form): FaultRow {
  return {
    id: 'F23',
    fault: `429 with Retry-After: ${form}`,
    ...everywhere,
    upstream: refuses(429, { headers, ...(details === undefined ? {} : { error: { details } }) }),
    circumstances: { cooldownMs: restMs },
    expected: {
      ...notRun,
      callerGets: 'upstream_rate_limited',
      retryAfter: seconds,
      reason: 'upstream_rate_limited',
      health: 'cooling_down',
    },
  };
}
