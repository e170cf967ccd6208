/**
 * Refuses members that raise the cost of a call or reach beyond it, unless the model allows them or
 * has a price for them.
 */
import type { Call, GuardedUse } from '../call.ts';
import { GatewayError } from '../errors.ts';
import type { FreePrice, Price } from '../money.ts';
import type { Model, ReachMember } from '../ports/catalog.ts';
import { type GuardedRow, guardedRows } from '../protocols/guarded-members.ts';
import { outputBound } from './hold.ts';
import { isBounded } from './member-costs.ts';

const rows: ReadonlyMap<string, GuardedRow> = new Map(guardedRows.map((row) => [row.row, row]));

/** @throws GatewayError `invalid_request` that names the member and says what to do */
export function checkMembers(call: Call, model: Model): void {
  for (const use of call.demand.guarded) {
    const row = rows.get(use.row);
    if (row === undefined) continue;
    if (row.class === 'reach') {
      if (!isAllowed(use, model.allow?.[row.row])) throw refused(row, use, model);
    } else if (!isCovered(use, call, model) && !isBounded(row.row, use, model)) {
      throw refused(row, use, model);
    }
  }
}

type Permission = NonNullable<Model['allow']>[ReachMember];

function isAllowed({ models }: GuardedUse, allowed: Permission): boolean {
  if (allowed === undefined || allowed === true) return allowed === true;
  return models.length > 0 && models.every((model) => allowed.models.includes(model));
}

/** True if the model's price covers the member without a row for it. */
function isCovered({ row, amount, modalities }: GuardedUse, call: Call, model: Model): boolean {
  const { price } = model;
  // Token counts are free, and their tools do not run.
  if (price.per === 'free' || call.operation.isFree) return true;
  if (row === 'reasoning_budget') return amount !== undefined && amount <= outputBound(call, model);
  if (row !== 'output_modalities' || modalities === undefined) return false;
  return modalities.every((modality) => hasRate(modality, price));
}

/** True if a price has a rate for output of this kind. */
function hasRate(modality: string, price: Exclude<Price, FreePrice>): boolean {
  if (price.per === 'image') return modality === 'image';
  if (modality === 'image') return price.rates.imageOutput !== undefined;
  return modality === 'audio' && price.rates.audioOutput !== undefined;
}

function refused(row: GuardedRow, { at, models }: GuardedUse, model: Model): GatewayError {
  const isListed = row.class === 'reach' && typeof model.allow?.[row.row] === 'object';
  const why =
    row.class === 'cost'
      ? 'which the price of this model does not cover'
      : isListed && models.length > 0
        ? 'not all of which may be called through this model'
        : 'which is not allowed on this model';
  const neutral = row.neutral?.find((value) => value !== false);
  const alternative = neutral === undefined ? '' : `, or send ${JSON.stringify(neutral)}`;
  return new GatewayError(
    'invalid_request',
    `\`${at}\` ${row.raises}, ${why}. Leave it out${alternative}.`,
    {
      param: at,
      reason: 'member_not_allowed',
    },
  );
}
