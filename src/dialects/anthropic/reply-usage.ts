/** The figures of Anthropic replies: whole, and of the events of a stream (TRANSLATION §6.15). */
import { chargeableUsage, type ReplyUsage } from '../../canonical/reply.ts';
import { items, type JsonValue, member } from '../../json.ts';
import type { Usage } from '../../money.ts';
import { figure, hasAny, usageOf } from '../usage-figures.ts';

const names: readonly string[] = ['input_tokens', 'output_tokens'];

/** The figures of a whole reply or of one event; undefined where they are absent or absurd. */
export function anthropicUsage(reply: JsonValue): Usage | undefined {
  const usage = member(reply, 'usage') ?? member(member(reply, 'message'), 'usage');
  const figures = anthropicReplyUsage(usage);
  return figures === undefined ? undefined : usageOf(chargeableUsage(figures));
}

/**
 * A `usage` object by itself. Anthropic counts what it read from its cache and what it wrote there
 * apart from the input. What a compaction consumed stands only in `iterations`; everything else
 * that is there is in the sum already.
 */
export function anthropicReplyUsage(usage: JsonValue | undefined): ReplyUsage | undefined {
  if (!hasAny(usage, names)) return undefined;
  const compactions = items(member(usage, 'iterations')).filter(
    (one) => member(one, 'type') === 'compaction',
  );
  const sum = (name: string): number =>
    [usage, ...compactions].reduce<number>((total, one) => total + figure(one, name), 0);
  const cached = sum('cache_read_input_tokens');
  const written = sum('cache_creation_input_tokens');
  const figures = {
    inputTokens: sum('input_tokens') + cached + written,
    outputTokens: sum('output_tokens'),
    cachedInputTokens: said(usage, 'cache_read_input_tokens') ? cached : undefined,
    cacheWriteTokens: said(usage, 'cache_creation_input_tokens') ? written : undefined,
    reasoningTokens: thinkingTokens(usage),
    audioInputTokens: undefined,
    audioOutputTokens: undefined,
  };
  const isSane = Number.isSafeInteger(figures.inputTokens + figures.outputTokens);
  return isSane ? figures : undefined;
}

/** The members of a `usage` object that are read. */
export const anthropicFigureNames: readonly string[] = [
  'input_tokens',
  'output_tokens',
  'cache_read_input_tokens',
  'cache_creation_input_tokens',
  'output_tokens_details',
  'iterations',
];

function thinkingTokens(usage: JsonValue | undefined): number | undefined {
  const details = member(usage, 'output_tokens_details');
  const tokens = figure(details, 'thinking_tokens');
  return said(details, 'thinking_tokens') && !Number.isNaN(tokens) ? tokens : undefined;
}

function said(holder: JsonValue | undefined, name: string): boolean {
  return hasAny(holder, [name]);
}
