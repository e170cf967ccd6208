/**
 * Counts the content and the usage of a translated reply. The charge is based on the content if the
 * upstream reports no usage.
 */
import { mediaKindOf } from '../../canonical/media.ts';
import { type ContentEvent, chargeableUsage, type ReplyUsage } from '../../canonical/reply.ts';
import { noUsage, type Usage } from '../../money.ts';
import type { ContentStreamReader } from '../codec.ts';
import { type UsageFloor, usageFloor } from '../usage/stream-usage.ts';
import { contentTokens, sealedContent } from './content-count.ts';
import { charsPerAudioToken, imageTokens, labelBytes } from './reply-content.ts';

interface ContentSize {
  contentBytes: number;
  /** The part of `contentBytes` that is reasoning. */
  reasoningBytes: number;
  /** Bytes that only the upstream can read. */
  sealedBytes: number;
  mediaTokens: number;
}

export interface EventCount extends ContentSize {
  readonly reader: ContentStreamReader;
  readonly floor: UsageFloor;
  lastUsage: Usage | undefined;
  isBlocked: boolean;
  hasUpstreamEnded: boolean;
}

export function eventCount(reader: ContentStreamReader): EventCount {
  return {
    reader,
    floor: usageFloor(),
    lastUsage: undefined,
    contentBytes: 0,
    reasoningBytes: 0,
    sealedBytes: 0,
    mediaTokens: 0,
    isBlocked: false,
    hasUpstreamEnded: false,
  };
}

export function countEvent(count: EventCount, event: ContentEvent): void {
  // A blocked prompt generates nothing, so usage that was not reported is zero.
  if (event.type === 'blocked') count.isBlocked = true;
  else addContent(count, event);
}

function addContent(size: ContentSize, event: ContentEvent): void {
  const bytes = bytesOf(event);
  size.contentBytes += bytes;
  size.sealedBytes += sealedBytesOf(event);
  if (event.type === 'reasoning') size.reasoningBytes += bytes;
  if (event.type === 'media') size.mediaTokens += mediaTokensOf(event);
}

/**
 * Records usage, which is final if the reply is complete. Upstreams repeat their usage, and a
 * repetition with the finish is the final report. Only the usage that a reader itself repeats at
 * its end is ignored.
 */
export function recordUsage(count: EventCount, stated: ReplyUsage, isComplete: boolean): void {
  const { lastUsage, hasUpstreamEnded, floor } = count;
  const usage = chargeableUsage(stated);
  if (hasUpstreamEnded && lastUsage !== undefined && isSameUsage(lastUsage, usage)) return;
  count.lastUsage = usage;
  floor.note(stated, countedTokens(count), isComplete);
}

export function heldChars({ reader }: EventCount): number {
  return reader.heldChars?.() ?? 0;
}

/** Grows with all content, also with what the reader holds back. */
export function contentSize(count: EventCount): number {
  return count.contentBytes + count.mediaTokens + heldChars(count);
}

export function countedTokens(count: EventCount): number {
  return tokensIn(count, heldChars(count));
}

function tokensIn(size: ContentSize, held: number): number {
  const { contentBytes, reasoningBytes, sealedBytes, mediaTokens } = size;
  const sealed = sealedContent(sealedBytes, reasoningBytes);
  return mediaTokens + contentTokens(contentBytes + held + sealed);
}

export function usageSoFar(count: EventCount): Usage | undefined {
  return count.floor.soFar(countedTokens(count)) ?? (count.isBlocked ? noUsage : undefined);
}

export function countTokensIn(events: readonly ContentEvent[]): number {
  const counter = contentCounter();
  for (const event of events) counter.add(event);
  return counter.tokens();
}

export interface ContentCounter {
  add(event: ContentEvent): void;
  tokens(): number;
}

export function contentCounter(): ContentCounter {
  const size: ContentSize = { contentBytes: 0, reasoningBytes: 0, sealedBytes: 0, mediaTokens: 0 };
  return { add: (event) => addContent(size, event), tokens: () => tokensIn(size, 0) };
}

function sealedBytesOf(event: ContentEvent): number {
  return 'providerData' in event ? (event.providerData?.data.length ?? 0) : 0;
}

/** Bytes of content, on which the charge is based if the upstream reports no usage. */
function bytesOf(event: ContentEvent): number {
  switch (event.type) {
    case 'text':
    case 'reasoning':
    case 'refusal':
    case 'tool_arguments':
      return Buffer.byteLength(event.text);
    case 'tool_begin':
      return labelBytes(event.name) + Buffer.byteLength(event.arguments);
    default:
      return 0;
  }
}

function isSameUsage(one: Usage, other: Usage): boolean {
  return (
    one.inputTokens === other.inputTokens &&
    one.cachedInputTokens === other.cachedInputTokens &&
    one.outputTokens === other.outputTokens
  );
}

/** Audio arrives in many pieces, each counted by its length. */
function mediaTokensOf({
  mimeType,
  data,
}: Pick<Extract<ContentEvent, { readonly type: 'media' }>, 'mimeType' | 'data'>): number {
  return mediaKindOf(mimeType) === 'audio'
    ? Math.ceil(data.length / charsPerAudioToken)
    : imageTokens;
}
