/** What an owner must be. Separate from its type, so that hosts can compile that without zod's. */
import type { z } from 'zod';
import { ConfigurationError } from '../../errors.ts';
import { ownerRatesSchema } from '../limits/rates-schema.ts';
import { checkSetUp, flag, matching, nanos, strict, text } from '../set-up.ts';
import type { KeyOwner } from './key-owner.ts';
import {
  anchorDay,
  anchorForm,
  fitsPeriod,
  keyMembers,
  keyRemedyOf,
  period,
} from './key-schema.ts';

/** An owner of keys. Strict, so that a misspelt limit is reported. */
export const ownerSchema: z.ZodType = strict('must be an object', {
  id: matching(/^[!-~]{1,120}$/, 'must be 1 to 120 printable ASCII characters without spaces'),
  name: text('must be text without control characters').optional(),
  limitNanos: nanos.optional(),
  period,
  anchorDay: anchorDay.optional(),
  rates: ownerRatesSchema.optional(),
  disabled: flag,
  metadata: keyMembers.metadata,
} satisfies Record<keyof KeyOwner, z.ZodType>).refine(fitsPeriod, {
  path: ['anchorDay'],
  message: anchorForm,
});

/** @throws ConfigurationError that names the member, and the remedy */
export function checkOwnerRecord(maker: string, owner: KeyOwner): void {
  checkSetUp(ownerSchema, owner, {
    root: `${maker}: owner`,
    remedyFor: keyRemedyOf,
    names: 'the type KeyOwner',
  });
}

/** Thrown where an owner is added whose id another one has. */
export function ownerTaken(maker: string, id: string): ConfigurationError {
  return new ConfigurationError(
    `${maker}: there is an owner "${id}" already. Choose another id, or update it.`,
  );
}

/** Thrown where an owner is changed, or named by a key, that does not exist. */
export function ownerMissing(maker: string, id: string): ConfigurationError {
  return new ConfigurationError(`${maker}: there is no owner "${id}". Add it to owners first.`);
}
