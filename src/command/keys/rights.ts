/** The options that state what a key may do, which `keys issue` and `keys edit` share. */
import { rateLineOf, ratesOf, rateTextForm } from '../../admin/keys/texts.ts';
import type { PeriodOfLimit } from '../../ports/keys/key-store.ts';
import type { KeyRateLimits } from '../../ports/limits/rates.ts';
import { type Command, dateOf, type Given, usageError } from '../command.ts';

export const rightsOptions: Command['options'] = {
  group: { value: 'NAME', text: 'its group, which decides its models' },
  model: { value: 'ID', isList: true, text: 'a model that it may use, of its group; repeatable' },
  owner: { value: 'ID', text: 'its owner, whose budget its calls count towards as well' },
  rate: {
    value: 'LIMIT',
    isList: true,
    text: 'calls=60/minute, tokens=1000000/day or MODEL:calls=10/minute; repeatable',
  },
  'max-calls': { value: 'N', text: 'how many of its calls may run at once' },
  expires: { value: 'DATE', text: 'when it expires: 2027-01-31, or 2027-01-31T18:00Z' },
  metadata: { value: 'NAME=TEXT', isList: true, text: 'a label of it; repeatable' },
};

export const periodOptions: Command['options'] = {
  period: { value: 'PERIOD', text: 'total, day, week or month; default: total' },
  'anchor-day': { value: 'DAY', text: 'the day on which its months begin; default: 1' },
};

export function periodIn({ text }: Given): PeriodOfLimit['period'] | undefined {
  const named = text('period');
  const period = (['total', 'day', 'week', 'month'] as const).find((known) => known === named);
  if (period === undefined && named !== undefined) {
    throw usageError('--period must be total, day, week or month.');
  }
  return period;
}

export function anchorDayIn({ text }: Given): number | undefined {
  const day = text('anchor-day');
  if (day === undefined) return undefined;
  if (/^(?:[1-9]|[12]\d|3[01])$/.test(day)) return Number(day);
  throw usageError('--anchor-day must be a day of the month, 1 to 31.');
}

/** The rights that the options state; what is not stated is undefined. */
export function rightsIn(given: Given) {
  const models = given.all('model');
  return {
    group: given.text('group'),
    models: models.length === 0 ? undefined : models,
    owner: given.text('owner'),
    rates: ratesIn(given),
    maxConcurrentCalls: callCountIn(given),
    expiresAtMs: expiryIn(given),
    metadata: metadataIn(given),
  };
}

export function ratesIn({ all }: Given): readonly KeyRateLimits[] | undefined {
  const lines = all('rate').map((text) => {
    const line = rateLineOf(text);
    if (line === undefined) throw usageError(`--rate must be ${rateTextForm}.`);
    return line;
  });
  return lines.length === 0 ? undefined : ratesOf(lines);
}

export function metadataIn({ all }: Given): Readonly<Record<string, string>> | undefined {
  const labels = all('metadata').map((text) => {
    const [, name, value] = /^([^=]+)=(.+)$/s.exec(text) ?? [];
    if (name === undefined || value === undefined) {
      throw usageError('--metadata must be NAME=TEXT, such as user=ada@example.com.');
    }
    return [name, value] as const;
  });
  return labels.length === 0 ? undefined : Object.fromEntries(labels);
}

function expiryIn(given: Given): number | undefined {
  const timeMs = dateOf(given, 'expires');
  if (timeMs !== undefined && timeMs <= given.around.clock.now()) {
    throw usageError('--expires is in the past: the key could never be used.');
  }
  return timeMs;
}

function callCountIn({ text }: Given): number | undefined {
  const count = text('max-calls');
  if (count === undefined) return undefined;
  if (/^[1-9]\d{0,8}$/.test(count)) return Number(count);
  throw usageError('--max-calls must be an integer, at least 1.');
}

/** The labels of a record with some changed and some taken out. */
export function labelsWith(
  known: Readonly<Record<string, string>>,
  labels: Readonly<Record<string, string>>,
  gone: readonly string[],
): Readonly<Record<string, string>> {
  const all = Object.entries({ ...known, ...labels });
  return Object.fromEntries(all.filter(([name]) => !gone.includes(name)));
}
