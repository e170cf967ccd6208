/**
 * The figures of a Gemini reply in the common form; on a stream each event may hold only some of
 * them.
 */
import type { ReplyUsage } from '../../canonical/reply.ts';
import { isJsonObject, items, type JsonObject, type JsonValue, member } from '../../json.ts';
import { figure, hasAny, usageOf } from '../usage-figures.ts';
import { geminiFigureNames } from './usage.ts';

/** The figures known so far: what a later event leaves out or nulls stays as it was. */
export function mergedUsage(
  before: JsonObject | undefined,
  after: JsonValue | undefined,
): JsonObject | undefined {
  if (!isJsonObject(after)) return before;
  const said = Object.entries(after).filter(([, value]) => value !== null);
  return { ...before, ...Object.fromEntries(said) };
}

/**
 * A `usageMetadata` object; undefined where it says nothing (Vertex sends one with nothing but
 * `trafficType` until the last event) or something absurd.
 */
export function geminiReplyUsage(usage: JsonValue | undefined): ReplyUsage | undefined {
  return hasAny(usage, geminiFigureNames) ? readFigures(usage) : undefined;
}

/** The same for a reply without candidates: a blocked prompt cost nothing, and zeros go unsaid. */
export function geminiBlockedUsage(usage: JsonValue | undefined): ReplyUsage | undefined {
  return isJsonObject(usage) ? readFigures(usage) : undefined;
}

/** Thoughts are output; what tools fed in is input (TRANSLATION §6.15). */
function readFigures(usage: JsonValue | undefined): ReplyUsage | undefined {
  const sums = usageOf({
    inputTokens: figure(usage, 'promptTokenCount') + figure(usage, 'toolUsePromptTokenCount'),
    cachedInputTokens: figure(usage, 'cachedContentTokenCount'),
    outputTokens: figure(usage, 'candidatesTokenCount') + figure(usage, 'thoughtsTokenCount'),
    images: 0,
  });
  if (sums === undefined) return undefined;
  return {
    inputTokens: sums.inputTokens,
    outputTokens: sums.outputTokens,
    cachedInputTokens: said(usage, 'cachedContentTokenCount'),
    cacheWriteTokens: undefined,
    reasoningTokens: said(usage, 'thoughtsTokenCount'),
    audioInputTokens: audioIn(usage, 'promptTokensDetails'),
    audioOutputTokens: audioIn(usage, 'candidatesTokensDetails'),
  };
}

function said(usage: JsonValue | undefined, name: string): number | undefined {
  return hasAny(usage, [name]) ? figure(usage, name) : undefined;
}

function audioIn(usage: JsonValue | undefined, name: string): number | undefined {
  const details = items(member(usage, name));
  const audio = details.find((detail) => member(detail, 'modality') === 'AUDIO');
  const count = figure(audio, 'tokenCount');
  return audio === undefined || Number.isNaN(count) ? undefined : count;
}
