/** The figures of Anthropic replies: whole, and of the events of a stream (TRANSLATION §6.15). */
import { chargeableUsage, type ReplyUsage } from '../../canonical/reply.ts';
import { items, type JsonValue, member } from '../../json.ts';
import type { Usage } from '../../money.ts';
import { countIn, figure, hasCount, withCached } from '../usage-figures.ts';

const names: readonly string[] = ['input_tokens', 'output_tokens'];

/** The figures of a whole reply or of one event; undefined where none is a count. */
export function anthropicUsage(reply: JsonValue): Usage | undefined {
  const usage = member(reply, 'usage') ?? member(member(reply, 'message'), 'usage');
  const figures = anthropicReplyUsage(usage);
  return figures === undefined ? undefined : withCached(chargeableUsage(figures));
}

/**
 * A `usage` object by itself. Anthropic counts what it read from its cache and what it wrote there
 * apart from the input. What a compaction consumed stands only in `iterations`; everything else
 * that is there is in the sum already.
 */
export function anthropicReplyUsage(usage: JsonValue | undefined): ReplyUsage | undefined {
  if (!hasCount(usage, names)) return undefined;
  const compactions = items(member(usage, 'iterations')).filter(
    (one) => member(one, 'type') === 'compaction',
  );
  const sum = (name: string): number =>
    [usage, ...compactions].reduce<number>((total, one) => total + figure(one, name), 0);
  const cached = sum('cache_read_input_tokens');
  const written = sum('cache_creation_input_tokens');
  return {
    inputTokens: sum('input_tokens') + cached + written,
    outputTokens: sum('output_tokens'),
    cachedInputTokens: isStated(usage, 'cache_read_input_tokens') ? cached : undefined,
    cacheWriteTokens: isStated(usage, 'cache_creation_input_tokens') ? written : undefined,
    reasoningTokens: countIn(member(usage, 'output_tokens_details'), 'thinking_tokens'),
    audioInputTokens: undefined,
    audioOutputTokens: undefined,
  };
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

function isStated(usage: JsonValue | undefined, name: string): boolean {
  return countIn(usage, name) !== undefined;
}
