/** Schemas that several routes share. */

import { z } from 'zod';
import { printableId } from '../../ports/quota-input.ts';
import { matching, strict } from '../../ports/set-up.ts';
import { type CallOutcome, callOutcomes } from '../../ports/usage-sink.ts';
import type { UsageGrouping } from '../../stores/sql/usage-report.ts';
import { type NowRange, nowRanges } from '../now.ts';

const nothing: z.ZodType<object> = strict('must be an empty object', {});
/** What routes begin with: no parameters and no body, unless they state their own. */
export const get = { method: 'GET', query: nothing, body: nothing } as const;
export const post = { ...get, method: 'POST' } as const;

export const nowQuery: z.ZodType<{ readonly range?: NowRange | undefined }> = z.strictObject({
  range: z.enum(nowRanges).optional(),
});

const nanosForm = 'must be a decimal string of nanos';
export const nanos: z.ZodType<string> = matching(/^\d{1,16}$/, nanosForm);
export const signedNanos: z.ZodType<string> = matching(/^-?\d{1,16}$/, nanosForm);

/** The id of a key or a subject. */
export const anId: z.ZodType<string> = matching(/^[!-~]{1,128}$/, `must be ${printableId}`);

/** The name of a partition. */
export const name: z.ZodType<string> = matching(
  /^[A-Za-z0-9._-]{1,64}$/,
  'must match [A-Za-z0-9._-]{1,64}',
);

/** Any other id. */
export const shortText: z.ZodType<string> = z
  .string('must be text of 1 to 256 characters')
  .min(1, 'must be text of 1 to 256 characters')
  .max(256, 'must be text of 1 to 256 characters');

/** A number as a parameter, which is text until it is read. */
export const integer: z.ZodType<string> = matching(/^\d{1,16}$/, 'must be a whole number').meta({
  type: 'integer',
  minimum: 0,
  pattern: undefined,
});

export const outcome: z.ZodType<CallOutcome> = z.enum(callOutcomes);

/** The groupings of a report on usage, besides metadata. */
export const usageGroupings = ['key', 'group', 'model', 'channel', 'day', 'outcome'] as const;

export const groupingPair: z.ZodType<string> = z
  .string('must be one or two groupings: key,model')
  .max(300)
  .refine((text) => groupingsOf(text) !== undefined, 'must be one or two groupings: key,model')
  .meta({ pattern: pairPattern([...usageGroupings, 'metadata\\.[^,]+']) });

/** For the document: one of the names, or two with a comma between them. */
export function pairPattern(names: readonly string[]): string {
  const one = `(${names.join('|')})`;
  return `^${one}(,${one})?$`;
}

export function groupingsOf(
  text: string,
): UsageGrouping | readonly [UsageGrouping, UsageGrouping] | undefined {
  const [first, second, third] = text.split(',').map(usageGroupingOf);
  if (first === undefined || third !== undefined) return undefined;
  if (!text.includes(',')) return first;
  return second === undefined ? undefined : [first, second];
}

export function usageGroupingOf(text: string): UsageGrouping | undefined {
  const known = usageGroupings.find((grouping) => grouping === text);
  const [, name] = /^metadata\.(.+)$/s.exec(text) ?? [];
  return known ?? (name === undefined ? undefined : `metadata.${name}`);
}

export function numberOf(text: string | undefined): number | undefined {
  return text === undefined ? undefined : Number(text);
}

export function given<T extends object>(
  members: T,
): { [Name in keyof T]?: Exclude<T[Name], undefined> } {
  const result: { [Name in keyof T]?: Exclude<T[Name], undefined> } = {};
  for (const [member, value] of Object.entries(members)) {
    if (value !== undefined) Reflect.set(result, member, value);
  }
  return result;
}
