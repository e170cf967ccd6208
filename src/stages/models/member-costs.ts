/**
 * Computes what the members that raise a call's cost add to its bound, from the model's price for
 * them.
 */
import type { Call, GuardedUse } from '../../call.ts';
import { type CostMember, costMembers, type MemberPrice, type ToolCalls } from '../../money.ts';
import type { Model } from '../../ports/models/catalog.ts';
import { defaultHoldCalls } from '../../prices/cost.ts';

/** The usage that a call may have in addition to its prompt and its answers. */
export interface MemberBounds {
  /** The members with a price, each once; undefined if there are none. */
  readonly members: readonly CostMember[] | undefined;
  /** Input tokens that tools add. */
  readonly inputTokens: number;
  /** Output tokens per answer above its stated bound. */
  readonly outputTokens: number;
  /** How many answers or images the provider makes for each one that it returns. */
  readonly generationsPerAnswer: number;
  /** How often the provider runs the model: once, plus once for each tool call. */
  readonly passes: number;
  /** How often a model reads the whole prompt: once, plus once for each summary or other model. */
  readonly promptPasses: number;
  readonly maxCalls: ToolCalls | undefined;
}

/** Tools that run at the provider and feed their results back to the model. */
const providerTools: ReadonlySet<CostMember> = new Set([
  ...['web_search', 'web_fetch', 'maps', 'code_execution', 'image_generation', 'file_search'],
  ...['code_interpreter', 'shell', 'other_tools', 'mcp', 'advisor', 'tool_search'],
] as const);
export function isProviderTool(row: CostMember): boolean {
  return providerTools.has(row);
}

/** Members with the number of answers, images or frames that the provider makes for one. */
const generations: ReadonlySet<CostMember> = new Set(['best_of', 'num_images', 'frame_count']);

/** The most output tokens of a summary that replaces a conversation. */
const compactionTokens = 16_384;

export const noMembers: MemberBounds = {
  members: undefined,
  inputTokens: 0,
  outputTokens: 0,
  generationsPerAnswer: 1,
  passes: 1,
  promptPasses: 1,
  maxCalls: undefined,
};

export function memberBounds({ demand, operation }: Call, model: Model): MemberBounds {
  const { price } = model;
  if (demand.guarded.length === 0 || operation.isFree) return noMembers;
  if (price.per === 'free' || price.members === undefined) return noMembers;
  const members: CostMember[] = [];
  const maxCalls: { [Row in CostMember]?: number } = {};
  let { inputTokens, outputTokens, generationsPerAnswer, promptPasses } = noMembers;
  let toolPasses = 0;
  for (const row of costMembers) {
    const priced = price.members[row];
    const uses = demand.guarded.filter((use) => use.row === row);
    if (priced === undefined || uses.length === 0) continue;
    members.push(row);
    const amount = Math.max(1, ...uses.map((use) => use.amount ?? 1));
    const calls = callsOf(priced, uses, demand.maxToolCalls);
    maxCalls[row] = calls;
    inputTokens += addedInput(row, priced, model, calls) ?? 0;
    if (row === 'reasoning_budget') outputTokens += amount;
    if (row === 'compaction') outputTokens += compactionTokens;
    if (generations.has(row)) generationsPerAnswer *= amount;
    if (providerTools.has(row)) toolPasses += calls;
    if (row === 'compaction') promptPasses += 1;
    if (row === 'fallbacks') promptPasses += modelsIn(uses);
  }
  const passes = promptPasses + toolPasses;
  return {
    members,
    inputTokens,
    outputTokens,
    generationsPerAnswer,
    passes,
    promptPasses,
    maxCalls,
  };
}

/**
 * The maximum number of calls of a tool. The price's `holdCalls` bounds each declaration of the
 * tool. A declaration may set a lower bound, and the request may bound the calls of all tools.
 */
function callsOf(
  { holdCalls = defaultHoldCalls }: MemberPrice,
  uses: readonly GuardedUse[],
  maxToolCalls: number | undefined,
): number {
  const declared = uses.reduce(
    (sum, { maxCalls }) => sum + Math.min(holdCalls, maxCalls ?? holdCalls),
    0,
  );
  return Math.min(declared, maxToolCalls ?? declared);
}

/** The number of other models that a request names; one if it leaves the choice to the provider. */
function modelsIn(uses: readonly GuardedUse[]): number {
  return uses.reduce((sum, { models }) => sum + Math.max(1, models.length), 0);
}

export function isBounded(row: CostMember, { amount }: GuardedUse, model: Model): boolean {
  const { price } = model;
  const priced = price.per === 'free' ? undefined : price.members?.[row];
  if (priced === undefined) return false;
  if (generations.has(row) || row === 'reasoning_budget') {
    return amount !== undefined && Number.isSafeInteger(amount) && amount >= 1 && amount < 1e9;
  }
  return addedInput(row, priced, model) !== undefined;
}

/** Undefined if nothing bounds them on a model priced by token. */
function addedInput(
  row: CostMember,
  { holdInputTokens, holdCalls = defaultHoldCalls }: MemberPrice,
  { price, contextTokens }: Model,
  calls: number = holdCalls,
): number | undefined {
  if (holdInputTokens !== undefined) return calls === 0 ? 0 : holdInputTokens;
  if (!providerTools.has(row) || price.per !== 'token') return 0;
  return contextTokens === undefined ? undefined : contextTokens * calls;
}
