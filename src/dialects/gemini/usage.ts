/** The figures of Gemini replies as a charge reads them. */
import { chargeableUsage } from '../../canonical/reply.ts';
import { items, type JsonObject, type JsonValue, member } from '../../json.ts';
import type { Usage } from '../../money.ts';
import { mergedFigures } from '../usage-figures.ts';
import { geminiBlockedUsage, geminiFigureNames, geminiReplyUsage } from './reply-usage.ts';

/** The figures of a reply, or of the events of one together. */
export function geminiUsage(reply: JsonValue): Usage | undefined {
  const replies = Array.isArray(reply) ? items(reply) : [reply];
  let usage: JsonObject | undefined;
  for (const one of replies) {
    usage = mergedFigures(usage, member(one, 'usageMetadata'), geminiFigureNames);
  }
  const saidNothing = replies.every((one) => items(member(one, 'candidates')).length === 0);
  return saidNothing ? chargeable(geminiBlockedUsage(usage)) : geminiFigures(usage);
}

/** A `usageMetadata` object by itself. */
export function geminiFigures(usage: JsonValue | undefined): Usage | undefined {
  return chargeable(geminiReplyUsage(usage));
}

function chargeable(usage: ReturnType<typeof geminiReplyUsage>): Usage | undefined {
  return usage === undefined ? undefined : chargeableUsage(usage);
}
