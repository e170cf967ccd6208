/** What each member of a key's record must be: to check new keys, and to explain wrong records. */
import { z } from 'zod';
import { maxLines } from '../limits/quota-input.ts';
import { keyRatesSchema, rateRemedyOf } from '../limits/rates-schema.ts';
import type { Path } from '../problems.ts';
import { aName, anId, flag, nanos, oneOf, positive, text } from '../set-up.ts';
import { type ApiKey, type QuotaSubject, quotaPeriods } from './key-store.ts';

/** A period of a limit. */
export const period = z.enum(quotaPeriods, oneOf(quotaPeriods));

const dayForm = 'must be a day of the month, 1 to 31';

/** The day on which a month begins. */
export const anchorDay = z.int(dayForm).min(1, dayForm).max(31, dayForm);

/** Whether an anchor day stands beside a period that has one. */
export function fitsPeriod(limit: {
  readonly period?: unknown;
  readonly anchorDay?: unknown;
}): boolean {
  return limit.anchorDay === undefined || limit.period === 'month';
}

/** What to write in place of an anchor day beside another period. */
export const anchorForm = "must be beside the period 'month'";

/** Each call compares its model with all of them. */
const maxModels = 256;
const modelsForm = "must be a list of models: ['gpt-4o']";

const modelNames = z
  .array(text('must be the id of a model'), modelsForm)
  .min(1, modelsForm)
  .max(maxModels, `must have at most ${maxModels} models`);

const subjectMembers = {
  id: anId,
  period,
  anchorDay: anchorDay.optional(),
  limitNanos: nanos.optional(),
  models: modelNames.optional(),
  maxConcurrentCalls: positive.optional(),
  visible: flag.optional(),
} satisfies Record<keyof QuotaSubject, z.ZodType>;

const subjectForm = 'must be a subject: an id and a period';
const subjectsForm =
  `must be a list of 1 to ${maxLines} subjects, such as ` +
  "[{ id: 'user-7', period: 'month', limitNanos: money('5') }]";

/** A subject of a new key. Strict, so that a misspelt member is reported. */
export const subject: z.ZodType = z
  .strictObject(subjectMembers, subjectForm)
  .refine(fitsPeriod, { path: ['anchorDay'], message: anchorForm });

const repeatedForm = 'must differ from that of another subject with the same period';

interface Named {
  readonly id?: unknown;
  readonly period?: unknown;
  readonly anchorDay?: unknown;
}

/** The first subject that has the id and the period of an earlier one; the store counts one. */
export function repeatedSubject(subjects: readonly Named[]): number | undefined {
  for (let index = 1; index < subjects.length; index += 1) {
    for (let earlier = 0; earlier < index; earlier += 1) {
      const [one, other] = [subjects[earlier], subjects[index]];
      if (one !== undefined && other !== undefined && isSameRow(one, other)) return index;
    }
  }
  return undefined;
}

/** A month that begins on the first is the calendar's. */
function isSameRow(one: Named, other: Named): boolean {
  const { id, period, anchorDay = 1 } = one;
  return id === other.id && period === other.period && anchorDay === (other.anchorDay ?? 1);
}

/** A `Date` can't represent a later time. */
const lastDateMs = 8_640_000_000_000_000;
const expiryForm = 'must be Unix milliseconds, a positive integer';

/** Every member of a record. */
export const keyMembers: Readonly<Record<keyof ApiKey, z.ZodType>> = {
  id: anId,
  group: text('must be the name of a group; it decides which models the key may use'),
  models: modelNames.optional(),
  owner: anId.optional(),
  disabled: flag,
  expiresAtMs: z
    .int(expiryForm)
    .positive(expiryForm)
    .max(lastDateMs, `must be at most ${lastDateMs}, the last time of a Date`)
    .optional(),
  quota: z
    .array(
      z
        .looseObject(subjectMembers, subjectForm)
        .refine(fitsPeriod, { path: ['anchorDay'], message: anchorForm }),
      subjectsForm,
    )
    .min(1, subjectsForm)
    .max(maxLines, subjectsForm)
    .superRefine((subjects, { addIssue }) => {
      const index = repeatedSubject(subjects);
      if (index === undefined) return;
      addIssue({ code: 'custom', path: [index, 'id'], message: repeatedForm });
    }),
  quotaPartition: aName.optional(),
  responseOwner: anId.optional(),
  maxConcurrentCalls: positive.optional(),
  rates: keyRatesSchema.optional(),
  sharedRates: keyRatesSchema.optional(),
  metadata: z.record(z.string(), z.string('must be text'), 'must be an object of texts').optional(),
};

/** A record, which may have members of the host's own. */
export const keyRecordSchema: z.ZodType = z.looseObject(keyMembers);

/** The remedy for each optional member. */
const remedies: ReadonlyMap<unknown, string> = new Map([
  ['anchorDay', 'Leave it out for the first day of the month'],
  ['models', 'Leave it out for all models'],
  ['owner', 'Leave it out for none'],
  ['expiresAtMs', 'Leave it out for a key that does not expire'],
  ['limitNanos', 'Leave it out if the quota store has the limit'],
  ['maxConcurrentCalls', 'Leave it out for no bound'],
  ['quotaPartition', 'Leave it out for the default'],
  ['responseOwner', 'Leave it out for a key of its own'],
  ['visible', 'Leave it out to hide the subject from the owner of the key'],
  ['metadata', 'Leave it out for none'],
]);

/** What to do about the member of a key at a path. */
export function keyRemedyOf(path: Path): string | undefined {
  if (path[0] === 'rates' || path[0] === 'sharedRates') return rateRemedyOf(path);
  return path[0] === 'metadata' && path.length > 1 ? undefined : remedies.get(path.at(-1));
}
