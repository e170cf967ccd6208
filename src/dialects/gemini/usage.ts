/** The figures of Gemini replies; on a stream every event carries them so far. */
import { items, type JsonValue, member } from '../../json.ts';
import type { Usage } from '../../money.ts';
import { figure, usageOf } from '../usage-figures.ts';

/** The figures of a reply or an event, or of the last of an array of them. */
export function geminiUsage(reply: JsonValue): Usage | undefined {
  const last = Array.isArray(reply) ? (items(reply).at(-1) ?? null) : reply;
  const usage = member(last, 'usageMetadata');
  return usage === undefined || usage === null ? undefined : geminiFigures(usage);
}

/** A `usageMetadata` object by itself. Thoughts are output; what tools fed in is input. */
export function geminiFigures(usage: JsonValue): Usage | undefined {
  return usageOf({
    inputTokens: figure(usage, 'promptTokenCount') + figure(usage, 'toolUsePromptTokenCount'),
    cachedInputTokens: figure(usage, 'cachedContentTokenCount'),
    outputTokens: figure(usage, 'candidatesTokenCount') + figure(usage, 'thoughtsTokenCount'),
    images: 0,
  });
}
