/**
 * Refuses members that raise the cost of a call or reach beyond it, unless the model allows them or
 * has a price for them.
 */
import type { Call, GuardedUse, MediaKind } from '../../call.ts';
import { GatewayError } from '../../errors.ts';
import {
  type CostMember,
  costMembers,
  type FreePrice,
  type MemberPrice,
  type Price,
  type TokenRates,
} from '../../money.ts';
import type { Model, ProtocolName } from '../../ports/models/catalog.ts';
import type { ReachMember } from '../../ports/models/reach-members.ts';
import { type GuardedRow, guardedRows } from '../../protocols/guarded-members.ts';
import { outputBound } from '../settle/hold.ts';
import { isBounded, isProviderTool } from './member-costs.ts';
import { canBeLeftOut, isOptional, type ToolRules } from './optional-tools.ts';

/** The rates that cover each kind. A document is billed as images; a reference may be anything. */
const ratesOf: Readonly<Record<MediaKind, readonly (keyof TokenRates)[]>> = {
  image: ['imageInput'],
  audio: ['audioInput'],
  video: ['videoInput'],
  document: ['imageInput'],
  reference: ['imageInput', 'audioInput', 'videoInput'],
};

/** Media cost several times as much as text, and most such prices have a rate for text only. */
function checkMediaRates({ demand }: Call, { price }: Model): void {
  if (price.per !== 'token') return;
  const { rates } = price;
  for (const { kind, at } of demand.prompt.media) {
    if (ratesOf[kind].every((name) => rates[name] !== undefined)) continue;
    throw new GatewayError(
      'invalid_request',
      `\`${at}\` is media for which this model has no price. Send text instead.`,
      { param: at, reason: 'media_not_priced' },
    );
  }
}

const rows: ReadonlyMap<string, GuardedRow> = new Map(guardedRows.map((row) => [row.row, row]));

/** `mayBeRelayed`: a channel of the model speaks the caller's own API. */
export function checkMembers(
  call: Call,
  model: Model,
  rules: ToolRules,
  mayBeRelayed: () => boolean,
): void {
  if (call.operation.needsMediaRates) checkMediaRates(call, model);
  for (const use of call.demand.guarded) {
    const row = rows.get(use.row);
    if (row === undefined || (row.isRelayedOnly === true && !mayBeRelayed())) continue;
    if (isAccepted(row, use, call, model)) {
      const { toolBound } = rules;
      if (toolBound === undefined || hasBoundedCalls(row, use, call, model)) continue;
      throw unboundedTool(row, use, toolBound);
    }
    if (!canBeLeftOut(use, call, model, rules)) throw refused(row, use, call, model);
  }
}

/** Tools declared by default that no price covers. Undefined for nearly every call. */
export function leftOutTools(
  call: Call,
  model: Model,
  rules: ToolRules,
): readonly GuardedUse[] | undefined {
  const leftOut = call.demand.guarded.filter((use) => {
    const row = rows.get(use.row);
    return row !== undefined && isOptional(use, rules) && !isAccepted(row, use, call, model);
  });
  return leftOut.length === 0 ? undefined : leftOut;
}

function isAccepted(row: GuardedRow, use: GuardedUse, call: Call, model: Model): boolean {
  if (row.class === 'cost') return isCovered(use, call, model) || isBounded(row.row, use, model);
  if (!isAllowed(use, model.allow?.[row.row])) return isPricedTool(row.row, use, call, model);
  const priced = pricedRow(row.row, model);
  return priced === undefined || call.operation.isFree || isBounded(priced, use, model);
}

/**
 * Whether a tool of no row of its own needs no permission: its model is free or has a price for
 * it. With a vendor's prefix it may reach other models of the vendor, whatever it costs.
 */
function isPricedTool(row: ReachMember, use: GuardedUse, call: Call, model: Model): boolean {
  if (row !== 'other_tools' || use.toolType === undefined) return false;
  if (/[^\w -]/.test(use.toolType)) return false;
  return isCovered(use, call, model) || isBounded(row, use, model);
}

function pricedRow(row: ReachMember, { price }: Model): CostMember | undefined {
  const members = price.per === 'free' ? undefined : price.members;
  return costMembers.find((name) => name === row && members?.[name] !== undefined);
}

/** Whether the caller or the price bounds the number of calls, if the tool has a price. */
function hasBoundedCalls(
  { row }: GuardedRow,
  { maxCalls }: GuardedUse,
  { operation }: Call,
  { price }: Model,
): boolean {
  const tool = costMembers.find((name) => name === row && isProviderTool(name));
  if (tool === undefined || maxCalls !== undefined || operation.isFree) return true;
  if (price.per === 'free' || price.members?.[tool] === undefined) return true;
  return price.members[tool].holdCalls !== undefined;
}

function unboundedTool({ raises }: GuardedRow, { at }: GuardedUse, bound: string): GatewayError {
  return new GatewayError(
    'invalid_request',
    `\`${at}\` ${raises}, without a limit. Send \`${bound}\` with it.`,
    { param: at, reason: 'member_not_allowed' },
  );
}

type Permission = NonNullable<Model['allow']>[ReachMember];

function isAllowed({ models, toolType }: GuardedUse, allowed: Permission): boolean {
  if (allowed === undefined || allowed === true) return allowed === true;
  if ('types' in allowed) return toolType !== undefined && allowed.types.includes(toolType);
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

function hasRate(modality: string, price: Exclude<Price, FreePrice>): boolean {
  if (price.per === 'image') return modality === 'image';
  if (modality === 'image') return price.rates.imageOutput !== undefined;
  return modality === 'audio' && price.rates.audioOutput !== undefined;
}

function refused(row: GuardedRow, use: GuardedUse, call: Call, model: Model): GatewayError {
  const { at, models } = use;
  const isListed = row.class === 'reach' && typeof model.allow?.[row.row] === 'object';
  const why =
    row.class === 'cost'
      ? 'which the price of this model does not cover'
      : isListed && models.length > 0
        ? 'not all of which may be called through this model'
        : 'which is not allowed on this model';
  return new GatewayError(
    'invalid_request',
    `\`${at}\` ${row.raises}, ${why}. ${alternativeTo(row, use, call)}.`,
    { param: at, reason: 'member_not_allowed', remedy: permissionFor(row, use, model) },
  );
}

function alternativeTo(row: GuardedRow, { at }: GuardedUse, { protocol }: Call): string {
  const content = at.endsWith('file_id') ? fileContent[protocol] : undefined;
  if (content !== undefined) return `Send the content of the file in its place, ${content}`;
  const neutral = row.neutral?.find((value) => value !== false);
  const sent = neutral === undefined ? '' : `, or send ${JSON.stringify(neutral)}`;
  // It is the tool that is to be left out, not its type alone.
  const holder = /^(.*)\.type$/i.exec(at)?.[1];
  return `Leave ${holder === undefined ? 'it' : `\`${holder}\``} out${sent}`;
}

/** The member that takes the content of a file, in each API that takes ids of files too. */
const fileContent: { readonly [Name in ProtocolName]?: string } = {
  chat: 'as `file_data`',
  responses: 'as `file_data`, or as `image_url` if it is an image',
  messages: 'as a `source` of the type `base64`',
};

/** For the host: what in the record of the model would allow the member; undefined if nothing. */
function permissionFor(row: GuardedRow, use: GuardedUse, model: Model): string | undefined {
  if (row.class === 'reach' && !isAllowed(use, model.allow?.[row.row])) {
    return `\`allow.${row.row}\` in the record of the model allows it.`;
  }
  const priced = costMembers.find((name) => name === row.row);
  if (priced === undefined) return undefined;
  const isEnough = (price: MemberPrice): boolean =>
    isBounded(priced, use, withMember(model, priced, price));
  const bound = isEnough({}) ? '' : ' with `holdInputTokens`';
  if (bound !== '' && !isEnough({ holdInputTokens: 1 })) return undefined;
  return (
    `\`price.members.${priced}\`${bound} in the record of the model allows it, and says what it ` +
    'costs.'
  );
}

function withMember(model: Model, row: CostMember, member: MemberPrice): Model {
  const { price } = model;
  if (price.per === 'free') return model;
  return { ...model, price: { ...price, members: { ...price.members, [row]: member } } };
}
