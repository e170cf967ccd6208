/**
 * What operators write about a key, on the command line, in a CSV file and in the console: rate
 * limits, periods and times as text. It runs in browsers too. What is wrong with a text is said in
 * a sentence that follows the name of its option or column.
 */
import { type PeriodOfLimit, quotaPeriods } from '../../ports/keys/key-store.ts';
import type { AmountPerPeriod, KeyRateLimits } from '../../ports/limits/rates.ts';

const rateForm =
  /^(?:(.+):)?(calls|tokens)=([1-9]\d{0,10})\/(minute|hour|day)(?:@([!-~]{1,128}))?$/;

const members = { minute: 'perMinute', hour: 'perHour', day: 'perDay' } as const;

/** One limit: how many calls or tokens in a period, of a model or of all, and shared or not. */
export interface RateLine {
  readonly of: 'calls' | 'tokens';
  readonly amount: number;
  readonly per: keyof typeof members;
  readonly model?: string;
  readonly subject?: string;
}

/** What {@link rateLineOf} accepts, to be read after "must be". */
export const rateTextForm: string =
  'a limit such as calls=60/minute, tokens=1000000/day or MODEL:calls=10/minute';

/**
 * The limit that a text states: `calls=60/minute`, `gpt-5.2:tokens=30000/minute` of one model,
 * `calls=1000/hour@group.pro` shared with all keys that name this subject.
 */
export function rateLineOf(text: string): RateLine | undefined {
  const [, model, of, amount, period, subject] = rateForm.exec(text) ?? [];
  const per = (['minute', 'hour', 'day'] as const).find((known) => known === period);
  if (per === undefined || Number(amount) > 10_000_000_000) return undefined;
  return {
    of: of === 'calls' ? 'calls' : 'tokens',
    amount: Number(amount),
    per,
    ...(model === undefined ? {} : { model }),
    ...(subject === undefined ? {} : { subject }),
  };
}

/** The limits of a record: an entry for each model and subject. The last of two lines wins. */
export function ratesOf(lines: readonly RateLine[]): readonly KeyRateLimits[] {
  const entries = new Map<string, KeyRateLimits>();
  for (const { of, amount, per, model, subject } of lines) {
    const name = JSON.stringify([model, subject]);
    const entry = entries.get(name) ?? {
      ...(model === undefined ? {} : { model }),
      ...(subject === undefined ? {} : { subject }),
    };
    entries.set(name, { ...entry, [of]: { ...entry[of], [members[per]]: amount } });
  }
  return [...entries.values()];
}

/** The rates of a record, or those that the interface has sent: null is no limit there. */
interface KnownRates {
  readonly model?: string | null;
  readonly subject?: string | null;
  readonly calls?: KnownAmounts | null;
  readonly tokens?: KnownAmounts | null;
}

type KnownAmounts = { readonly [Name in keyof AmountPerPeriod]?: number | null };

/** The reverse of {@link ratesOf}. */
export function rateLinesOf(rates: readonly KnownRates[]): readonly RateLine[] {
  return rates.flatMap(({ calls, tokens, model, subject }) => {
    const rest = {
      ...(typeof model === 'string' ? { model } : {}),
      ...(typeof subject === 'string' ? { subject } : {}),
    };
    const lines = [...linesOf('calls', calls ?? {}), ...linesOf('tokens', tokens ?? {})];
    return lines.map((line) => ({ ...line, ...rest }));
  });
}

function linesOf(of: RateLine['of'], amounts: KnownAmounts): readonly RateLine[] {
  return (['minute', 'hour', 'day'] as const).flatMap((per) => {
    const amount = amounts[members[per]];
    return typeof amount === 'number' ? [{ of, amount, per }] : [];
  });
}

/** The reverse of {@link rateLineOf}. */
export function rateText({ of, amount, per, model, subject }: RateLine): string {
  const prefix = model === undefined ? '' : `${model}:`;
  const suffix = subject === undefined ? '' : `@${subject}`;
  return `${prefix}${of}=${amount}/${per}${suffix}`;
}

/** A day, optionally with a time, whose seconds are optional. */
const timeForm = /^(\d{4}-\d\d-\d\d)(?:T(\d\d:\d\d)(?::(\d\d)(\.\d{3})?)?(Z?))?$/;

/** A time in UTC as Unix ms, or what is wrong with the text, to be read after its name. */
export function utcTime(text: string): number | string {
  const [, day, minute, second = '00', fraction = '.000', zone] = timeForm.exec(text) ?? [];
  if (day === undefined) {
    return 'must be a date. Write it in UTC, such as 2027-01-31 or 2027-01-31T18:00Z.';
  }
  if (minute !== undefined && zone !== 'Z') {
    return `needs a Z after its time, which is in UTC: ${text}Z.`;
  }
  const iso = `${day}T${minute ?? '00:00'}:${second}${fraction}Z`;
  const timeMs = Date.parse(iso);
  // `Date.parse` would return another day for one that the month does not have.
  const isReal = !Number.isNaN(timeMs) && new Date(timeMs).toISOString() === iso;
  return isReal ? timeMs : 'is a date that does not exist. Correct it.';
}

export function periodOf(text: string): Pick<PeriodOfLimit, 'period'> | string {
  const period = quotaPeriods.find((known) => known === text);
  return period === undefined ? `must be one of ${quotaPeriods.join(', ')}.` : { period };
}

export function anchorDayOf(text: string): { readonly anchorDay: number } | string {
  return /^(?:[1-9]|[12]\d|3[01])$/.test(text)
    ? { anchorDay: Number(text) }
    : 'must be a day of the month, 1 to 31.';
}

export function callCountOf(text: string): { readonly maxConcurrentCalls: number } | string {
  return /^[1-9]\d{0,8}$/.test(text)
    ? { maxConcurrentCalls: Number(text) }
    : 'must be an integer of at least 1.';
}

export function expiryOf(text: string, nowMs: number): { readonly expiresAtMs: number } | string {
  const expiresAtMs = utcTime(text);
  if (typeof expiresAtMs === 'string') return expiresAtMs;
  return expiresAtMs > nowMs ? { expiresAtMs } : 'is in the past: the key could never be used.';
}
