/**
 * Refuses members that raise the cost of a call or reach beyond it, unless the model covers them.
 */
import type { Call, GuardedUse } from '../call.ts';
import { GatewayError } from '../errors.ts';
import type { Model, ReachMember } from '../ports/catalog.ts';
import { type GuardedRow, guardedRows } from '../protocols/guarded-members.ts';
import { outputBound } from './hold.ts';

const rows: ReadonlyMap<string, GuardedRow> = new Map(guardedRows.map((row) => [row.row, row]));

/** @throws GatewayError `invalid_request` that names the member and says what to do */
export function checkMembers(call: Call, model: Model): void {
  for (const use of call.demand.guarded) {
    const row = rows.get(use.row);
    if (row === undefined) continue;
    const isFine =
      row.class === 'reach' ? isAllowed(use, model.allow?.[row.row]) : isCovered(use, call, model);
    if (!isFine) throw refused(row, use, model);
  }
}

type Permission = NonNullable<Model['allow']>[ReachMember];

function isAllowed({ models }: GuardedUse, allowed: Permission): boolean {
  if (allowed === undefined || allowed === true) return allowed === true;
  return models.length > 0 && models.every((model) => allowed.models.includes(model));
}

/** Whether the model's price covers what the member costs. */
function isCovered({ row, tokens, isImagesOnly }: GuardedUse, call: Call, model: Model): boolean {
  const { per } = model.price;
  // Nothing of a count is charged, and its tools do not run.
  if (per === 'nothing' || call.operation.isFree) return true;
  if (row === 'reasoning_budget') return tokens !== undefined && tokens <= outputBound(call, model);
  return row === 'output_modalities' && isImagesOnly === true && per === 'image';
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
  const else_ = neutral === undefined ? '' : `, or send ${JSON.stringify(neutral)}`;
  return new GatewayError(
    'invalid_request',
    `\`${at}\` ${row.raises}, ${why}. Leave it out${else_}.`,
    {
      param: at,
      reason: 'member_not_allowed',
    },
  );
}
