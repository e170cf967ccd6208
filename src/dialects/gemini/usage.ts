/** The figures of Gemini replies; on a stream every event carries them so far. */
import { isJsonObject, items, type JsonValue, member } from '../../json.ts';
import type { Usage } from '../../money.ts';
import { figure, hasAny, usageOf } from '../usage-figures.ts';

/** A reply that gives none of these says nothing of what it used. */
export const geminiFigureNames: readonly string[] = [
  'promptTokenCount',
  'toolUsePromptTokenCount',
  'candidatesTokenCount',
  'thoughtsTokenCount',
  'totalTokenCount',
];

/** The figures of a reply, or of the last of many that has a `usageMetadata`. */
export function geminiUsage(reply: JsonValue): Usage | undefined {
  const replies = Array.isArray(reply) ? items(reply) : [reply];
  const last = replies.findLast((one) => isJsonObject(member(one, 'usageMetadata')));
  const usage = member(last, 'usageMetadata');
  // Google leaves zeros out, and a blocked prompt has cost nothing.
  const saidNothing = items(member(last, 'candidates')).length === 0;
  return isJsonObject(usage) && saidNothing ? readFigures(usage) : geminiFigures(usage);
}

/**
 * A `usageMetadata` object by itself. Thoughts are output; what tools fed in is input. Vertex sends
 * one with nothing but `trafficType` until the last event: that says nothing, which is not zero.
 */
export function geminiFigures(usage: JsonValue | undefined): Usage | undefined {
  return hasAny(usage, geminiFigureNames) ? readFigures(usage) : undefined;
}

function readFigures(usage: JsonValue | undefined): Usage | undefined {
  return usageOf({
    inputTokens: figure(usage, 'promptTokenCount') + figure(usage, 'toolUsePromptTokenCount'),
    cachedInputTokens: figure(usage, 'cachedContentTokenCount'),
    outputTokens: figure(usage, 'candidatesTokenCount') + figure(usage, 'thoughtsTokenCount'),
    images: 0,
  });
}
