/**
 * What the members of a request that raise its cost add to the bound of that cost, by what the
 * price of the model says of them.
 */
import type { Call, GuardedUse } from '../call.ts';
import { type CostMember, costMembers, type MemberPrice } from '../money.ts';
import type { Model } from '../ports/catalog.ts';
import { defaultHoldCalls } from '../prices/cost.ts';

/** What a call may consume beyond its prompt and its answers. */
export interface MemberBounds {
  /** The members that have a price, each once; undefined where there is none. */
  readonly members: readonly CostMember[] | undefined;
  /** Input tokens that tools add. */
  readonly inputTokens: number;
  /** Output tokens of each answer above its stated bound. */
  readonly outputTokens: number;
  /** How many answers or images the provider makes for each that is returned. */
  readonly answers: number;
  /** How often the provider runs the model: once, and once more for each call of a tool. */
  readonly passes: number;
}

/** Tools of the provider, which feed what they find back to the model. */
const tools: ReadonlySet<CostMember> = new Set([
  'web_search',
  'web_fetch',
  'maps',
  'code_execution',
  'image_generation',
]);

/** A call that uses no such member. */
export const noMembers: MemberBounds = {
  members: undefined,
  inputTokens: 0,
  outputTokens: 0,
  answers: 1,
  passes: 1,
};

/** The bounds of a call whose members have been checked. */
export function memberBounds({ demand, operation }: Call, model: Model): MemberBounds {
  const { price } = model;
  if (demand.guarded.length === 0 || operation.isFree) return noMembers;
  if (price.per === 'free' || price.members === undefined) return noMembers;
  const members: CostMember[] = [];
  let { inputTokens, outputTokens, answers, passes } = noMembers;
  for (const row of costMembers) {
    const priced = price.members[row];
    const uses = demand.guarded.filter((use) => use.row === row);
    if (priced === undefined || uses.length === 0) continue;
    members.push(row);
    const amount = Math.max(1, ...uses.map((use) => use.amount ?? 1));
    inputTokens += addedInput(row, priced, model) ?? 0;
    if (row === 'reasoning_budget') outputTokens = amount;
    if (row === 'best_of' || row === 'num_images') answers *= amount;
    if (tools.has(row)) passes += priced.holdCalls ?? defaultHoldCalls;
  }
  return { members, inputTokens, outputTokens, answers, passes };
}

/** Whether the price of a member says what it may cost at most. */
export function isBounded(row: CostMember, { amount }: GuardedUse, model: Model): boolean {
  const { price } = model;
  const priced = price.per === 'free' ? undefined : price.members?.[row];
  if (priced === undefined) return false;
  if (row === 'best_of' || row === 'num_images' || row === 'reasoning_budget') {
    return amount !== undefined && Number.isSafeInteger(amount) && amount >= 1 && amount < 1e9;
  }
  return addedInput(row, priced, model) !== undefined;
}

/** Undefined where nothing bounds what a tool adds on a model that is priced by the token. */
function addedInput(
  row: CostMember,
  { holdInputTokens, holdCalls = defaultHoldCalls }: MemberPrice,
  { price, contextTokens }: Model,
): number | undefined {
  if (holdInputTokens !== undefined) return holdInputTokens;
  if (!tools.has(row) || price.per !== 'token') return 0;
  return contextTokens === undefined ? undefined : contextTokens * holdCalls;
}
