/** Reads the usage of whole and streamed Anthropic replies. */
import {
  chargeableUsage,
  type ReplyUsage,
  type UsageGap,
  usageOfWholeReply,
} from '../../canonical/reply.ts';
import { type JsonValue, member } from '../../json.ts';
import type { PassUsage, Usage } from '../../money.ts';
import { type UsageReader, usageMerger } from '../usage/stream-usage.ts';
import { countsIn, noCounts, type UsageCounts } from '../usage/usage-counts.ts';
import { replyUsageOf, writtenIn } from '../usage/usage-reading.ts';
import { anthropicRows } from '../usage/usage-table.ts';

export function anthropicUsage(reply: JsonValue): Usage | undefined {
  return usageOfObject(member(reply, 'usage') ?? member(member(reply, 'message'), 'usage'));
}

/** The usage of a whole reply to charge; `counted` is called if the output is not fully stated. */
export function messageUsage(reply: JsonValue, counted: () => number): Usage | undefined {
  const replyUsage = anthropicReplyUsage(member(reply, 'usage'));
  return replyUsage === undefined ? undefined : usageOfWholeReply(replyUsage, counted);
}

export function usageOfObject(usage: JsonValue | undefined): Usage | undefined {
  const replyUsage = anthropicReplyUsage(usage);
  return replyUsage === undefined ? undefined : chargeableUsage(replyUsage);
}

/** Reads a `usage` object; undefined if it has no valid count. */
export function anthropicReplyUsage(usage: JsonValue | undefined): ReplyUsage | undefined {
  return usageMerger(anthropicUsageReader)(usage);
}

/** The times that the provider ran a model for a reply. */
interface Iterations {
  readonly all: readonly UsageCounts[];
  /** Those that made the reply: the totals are their sum. */
  readonly passes: readonly UsageCounts[];
  /** Not in the totals: a compaction's summary, an adviser, and a refused first attempt. */
  readonly others: readonly UsageCounts[];
}

const noIterations: Iterations = { all: [], passes: [], others: [] };

function iterationsIn({ iterations }: UsageCounts): Iterations {
  if (iterations === undefined) return noIterations;
  const types = iterations.map((one) => member(one, 'type'));
  const fellBack = types.includes('fallback_message');
  const all = iterations.map((one) => countsIn(one, anthropicRows) ?? noCounts);
  const isOther = (_: UsageCounts, at: number): boolean => {
    const type = types[at];
    return type === 'compaction' || type === 'advisor_message' || (fellBack && type === 'message');
  };
  return {
    all,
    passes: all.filter((one, at) => !isOther(one, at)),
    others: all.filter(isOther),
  };
}

/** The counts that totals and passes both have. */
const summed = ['input', 'output', 'cached', 'written', 'written1h'] as const;
type Summed = (typeof summed)[number];

function countOf(counts: UsageCounts, name: Summed): number | undefined {
  return name === 'written' ? writtenIn(counts) : counts[name];
}

function sumOf(parts: readonly UsageCounts[], name: Summed): number {
  return parts.reduce((sum, one) => sum + (countOf(one, name) ?? 0), 0);
}

/** The passes may state parts of the input that the totals don't. */
const besideInput: UsageCounts['places'] = { cached: 'beside', written: 'beside' };

/** The total and the sum of its passes should be equal; the larger one counts. */
function withOthers(counts: UsageCounts, { passes, others }: Iterations): UsageCounts {
  const sums = summed.map((name): [Summed, number | undefined] => {
    const stated = countOf(counts, name);
    const larger = Math.max(stated ?? 0, sumOf(passes, name)) + sumOf(others, name);
    return [name, larger === 0 ? stated : larger];
  });
  return { ...counts, ...Object.fromEntries(sums), written5m: undefined, places: besideInput };
}

/** In a stream, a total may exceed the passes that an earlier object stated. */
function isInconsistent(last: UsageCounts, { passes }: Iterations): boolean {
  const differs = (name: Summed): boolean => {
    const total = last[name];
    if (total === undefined || passes.some((pass) => pass[name] === undefined)) return false;
    const sum = passes.reduce((before, pass) => before + (pass[name] ?? 0), 0);
    return last.iterations === undefined ? sum > total : sum !== total;
  };
  return passes.length > 0 && comparedNames.some(differs);
}

const comparedNames = ['input', 'output', 'cached', 'written'] as const;

function read(counts: UsageCounts, last: UsageCounts): ReplyUsage | undefined {
  if ((counts.input ?? counts.output) === undefined) return undefined;
  const iterations = iterationsIn(counts);
  const all = iterations.all.length === 0 ? counts : withOthers(counts, iterations);
  const usage = replyUsageOf(all, last, false);
  const { searches, fetches } = counts;
  const hasCalls = (searches ?? fetches) !== undefined;
  return {
    ...usage,
    gap: gapIn(counts),
    // Anthropic states the number of calls of each of its tools: a missing count is zero.
    toolCalls: hasCalls ? { web_search: searches ?? 0, web_fetch: fetches ?? 0 } : {},
    ...severalPasses(iterations.all),
    remarks: isInconsistent(last, iterations)
      ? { ...usage.remarks, isInconsistent: true }
      : usage.remarks,
  };
}

function severalPasses(
  all: readonly UsageCounts[],
): Pick<ReplyUsage, 'largestPassInputTokens' | 'passes'> {
  if (all.length < 2) return {};
  const passes = all.map(passOf);
  const largestPassInputTokens = Math.max(...passes.map(({ inputTokens }) => inputTokens));
  return { largestPassInputTokens, passes };
}

function passOf(pass: UsageCounts): PassUsage {
  const { cached = 0, written1h = 0, output = 0 } = pass;
  return {
    inputTokens: inputOf(pass),
    cachedInputTokens: cached,
    cacheWrite5mTokens: (writtenIn(pass) ?? 0) - written1h,
    cacheWrite1hTokens: written1h,
    outputTokens: output,
  };
}

function inputOf(counts: UsageCounts): number {
  return (counts.input ?? 0) + (counts.cached ?? 0) + (writtenIn(counts) ?? 0);
}

/** The passes that made the reply state its output too. */
function gapIn(counts: UsageCounts): UsageGap {
  const { passes } = iterationsIn(counts);
  const states = ({ output }: UsageCounts): boolean => output !== undefined;
  return states(counts) || (passes.length > 0 && passes.every(states)) ? undefined : 'output';
}

const promptNames = ['input', 'cached', 'written', 'written5m', 'written1h'] as const;

/** Servers such as SGLang end a stream with `input_tokens: 0`, but no prompt is empty. */
function withoutEmptyPrompt(known: UsageCounts | undefined, counts: UsageCounts): UsageCounts {
  if (known === undefined || inputOf(counts) > 0) return counts;
  if (iterationsIn(counts).all.some((one) => inputOf(one) > 0)) return counts;
  const repeated = promptNames.filter((name) => (known[name] ?? counts[name]) !== counts[name]);
  if (repeated.length === 0) return counts;
  const kept: { -readonly [Name in keyof UsageCounts]: UsageCounts[Name] } = { ...counts };
  for (const name of repeated) delete kept[name];
  return kept;
}

export const anthropicUsageReader: UsageReader = {
  rows: anthropicRows,
  withImplied: withoutEmptyPrompt,
  gap: gapIn,
  read,
};
