/** Checks where the tables are: the options that all stores in PostgreSQL share. */
import { z } from 'zod';
import { methods } from '../../ports/set-up.ts';
import type { PostgresLocation } from './client.ts';

export const locationMembers: Readonly<Record<keyof PostgresLocation, z.ZodType>> = {
  client: methods('query'),
  schema: z
    .string('must be the name of a schema')
    .regex(/^[A-Za-z_]\w{0,62}$/, 'must match /^[A-Za-z_]\\w{0,62}$/')
    .optional(),
};

export const locationRemedies: Readonly<Record<string, string>> = {
  client: 'Give it a Pool of pg, or an object with its query(text, values)',
};
