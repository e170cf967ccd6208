/** Reads the usage of whole Gemini replies in the form that charging uses. */
import { chargeableUsage, type ReplyUsage, usageOfWholeReply } from '../../canonical/reply.ts';
import { items, type JsonValue, member } from '../../json.ts';
import { noUsage, type Usage } from '../../money.ts';
import { geminiUsageReader, usageMerger } from '../usage/stream-usage.ts';

/** `counted` (content in tokens) is called only if the stated usage is incomplete. */
export function geminiUsage(reply: JsonValue, counted: () => number): Usage | undefined {
  const replies = Array.isArray(reply) ? items(reply) : [reply];
  const merge = usageMerger(geminiUsageReader);
  let usage: ReplyUsage | undefined;
  for (const one of replies) usage = merge(member(one, 'usageMetadata')) ?? usage;
  if (usage !== undefined) return usageOfWholeReply(usage, counted);
  // A reply without candidates is a blocked prompt, which costs nothing unless usage is stated.
  const hasNoCandidates = replies.every((one) => items(member(one, 'candidates')).length === 0);
  return hasNoCandidates ? noUsage : undefined;
}

export function usageOfMetadata(usage: JsonValue | undefined): Usage | undefined {
  const read = usageMerger(geminiUsageReader)(usage);
  return read === undefined ? undefined : chargeableUsage(read);
}
