/** Checks that several protocols share, with their messages. */
import { z } from 'zod';

/** A model's id. Well-formed, so that every JSON parser decodes it alike. */
export const modelField: z.ZodType<string> = z
  .string('must be a string: the id of a model')
  .min(1, 'must be the id of a model, not empty')
  .refine((id) => id.isWellFormed(), 'must be well-formed Unicode');

export const positiveField: z.ZodType<number | null | undefined> = z
  .int('must be a positive integer')
  .positive('must be a positive integer')
  .nullish();
