/** The checks that more than one protocol makes, with their sentences. */
import { z } from 'zod';

/** A model's id: text that every JSON parser decodes alike. */
export const modelField: z.ZodType<string> = z
  .string('must be a string: the id of a model')
  .min(1, 'must be the id of a model, not empty')
  .refine((id) => id.isWellFormed(), 'must be well-formed Unicode');

/** A count that prices the call, so that it must be one. */
export const positiveField: z.ZodType<number | null | undefined> = z
  .int('must be a positive integer')
  .positive('must be a positive integer')
  .nullish();
