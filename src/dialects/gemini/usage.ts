/** The figures of Gemini replies as a charge reads them. */
import { chargeableUsage, type ReplyUsage, usageOfWholeReply } from '../../canonical/reply.ts';
import { items, type JsonValue, member } from '../../json.ts';
import { noUsage, type Usage } from '../../money.ts';
import { usageMerger } from '../stream-usage.ts';
import { geminiReplyUsage, geminiUsageReader } from './reply-usage.ts';

/**
 * The figures of a reply, or of the events of one together; `counted` is its content in tokens,
 * asked for only where the figures leave it open.
 */
export function geminiUsage(reply: JsonValue, counted: () => number): Usage | undefined {
  const replies = Array.isArray(reply) ? items(reply) : [reply];
  const merge = usageMerger(geminiUsageReader);
  let usage: ReplyUsage | undefined;
  for (const one of replies) usage = merge(member(one, 'usageMetadata')) ?? usage;
  if (usage !== undefined) return usageOfWholeReply(usage, counted);
  // Without candidates the prompt was blocked, which costs nothing unless stated.
  const saidNothing = replies.every((one) => items(member(one, 'candidates')).length === 0);
  return saidNothing ? noUsage : undefined;
}

/** A `usageMetadata` object by itself. */
export function geminiFigures(usage: JsonValue | undefined): Usage | undefined {
  const figures = geminiReplyUsage(usage);
  return figures === undefined ? undefined : chargeableUsage(figures);
}
