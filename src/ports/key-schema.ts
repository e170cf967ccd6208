/** What each member of a key's record must be: to check new keys, and to explain wrong records. */
import { z } from 'zod';
import type { ApiKey, QuotaSubject } from './key-store.ts';
import { maxLines } from './quota-input.ts';
import { keyRatesSchema, rateRemedyOf } from './rates-schema.ts';
import { aName, anId, flag, nanos, type Path, positive, text } from './set-up.ts';

/** A period of a quota. */
export const period: z.ZodType = z.enum(
  ['total', 'day', 'month'],
  "must be 'total', 'day' or 'month'",
);

const subjectMembers = {
  id: anId,
  period,
  limitNanos: nanos.optional(),
  maxConcurrentCalls: positive.optional(),
  visible: flag.optional(),
} satisfies Record<keyof QuotaSubject, z.ZodType>;

const subjectForm = 'must be a subject: an id and a period';
const subjectsForm =
  `must be a list of 1 to ${maxLines} subjects, such as ` +
  "[{ id: 'user-7', period: 'month', limitNanos: money('5') }]";

/** A subject of a new key. Strict, so that a misspelt member is reported. */
export const subject: z.ZodType = z.strictObject(subjectMembers, subjectForm);

const repeatedForm = 'must differ from that of another subject with the same period';

/** The first subject that has the id and the period of an earlier one; the store counts one. */
export function repeatedSubject(
  subjects: readonly { readonly id?: unknown; readonly period?: unknown }[],
): number | undefined {
  for (let index = 1; index < subjects.length; index += 1) {
    for (let earlier = 0; earlier < index; earlier += 1) {
      const [one, other] = [subjects[earlier], subjects[index]];
      if (one?.id === other?.id && one?.period === other?.period) return index;
    }
  }
  return undefined;
}

/** A `Date` can't represent a later time. */
const lastDateMs = 8_640_000_000_000_000;
const expiryForm = 'must be Unix milliseconds, a positive integer';

/** Every member of a record. */
export const keyMembers: Readonly<Record<keyof ApiKey, z.ZodType>> = {
  id: anId,
  group: text('must be the name of a group; it decides which models the key may use'),
  disabled: flag,
  expiresAtMs: z
    .int(expiryForm)
    .positive(expiryForm)
    .max(lastDateMs, `must be at most ${lastDateMs}, the last time of a Date`)
    .optional(),
  quota: z
    .array(z.looseObject(subjectMembers, subjectForm), subjectsForm)
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
  metadata: z.record(z.string(), z.string('must be text'), 'must be an object of texts').optional(),
};

/** A record, which may have members of the host's own. */
export const keyRecordSchema: z.ZodType = z.looseObject(keyMembers);

/** The remedy for each optional member. */
const remedies: ReadonlyMap<unknown, string> = new Map([
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
  if (path[0] === 'rates') return rateRemedyOf(path);
  return path[0] === 'metadata' && path.length > 1 ? undefined : remedies.get(path.at(-1));
}
