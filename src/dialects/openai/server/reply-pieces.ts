/**
 * Writes the pieces that whole and streamed chat replies share: finish reasons, usage, signatures,
 * images, citations.
 */
import { dataUrl } from '../../../canonical/media.ts';
import type { ProviderData } from '../../../canonical/provider-data.ts';
import {
  type Citation,
  type EventOf,
  type FinishReason,
  mayCutCall,
  type ReplyUsage,
  type TokenLogprob,
} from '../../../canonical/reply.ts';
import type { JsonNumber, JsonValue } from '../../../json.ts';

/** A piece of a reply; undefined members are left out. */
export interface Piece {
  readonly [name: string]: PieceValue;
}

/** The values that a {@link Piece} may contain. */
export type PieceValue = JsonValue | undefined | Piece | readonly Piece[];

/** The reply that a piece belongs to. */
export interface ReplySource {
  readonly id: string;
  readonly createdSeconds: number;
}

/** Returns the id of a reply, with the prefix that chat completions have. */
export function replyId(upstreamId: string | undefined, fallbackId: string): string {
  const id = upstreamId === undefined || upstreamId === '' ? fallbackId : upstreamId;
  return id.startsWith(idPrefix) ? id : `${idPrefix}${id}`;
}

const idPrefix = 'chatcmpl-';

/**
 * Returns the finish reason. Callers run the tool calls only on `tool_calls`, which is used unless
 * the reply was cut off or filtered.
 */
export function finishReason(reason: FinishReason, hasCalls: boolean): string {
  if (reason === 'content_filter' || reason === 'length') return reason;
  return hasCalls ? 'tool_calls' : 'stop';
}

/**
 * The arguments of a call that has none: `{}`, which callers can parse, or no text for the last
 * call of a reply that was cut.
 */
export function emptyArguments(isLast: boolean, finish: EventOf<'finish'> | undefined): string {
  return isLast && mayCutCall(finish?.reason) ? '' : '{}';
}

/** Returns the upstream's explanation for a filtered reply, which is shown as the refusal. */
export function filterMessage(finish: EventOf<'finish'> | undefined): string | null {
  return finish?.reason === 'content_filter' ? finish.message || null : null;
}

/** Returns the refusal for a prompt that was blocked. */
export function blockedMessage({ reason, message }: EventOf<'blocked'>): string {
  const sentence = `Prompt blocked: ${reason}`;
  return message === undefined || message === '' ? sentence : `${sentence}. ${message}`;
}

/** Writes the usage of a reply; counts that the upstream did not report are left out. */
export function usagePiece(usage: ReplyUsage): Piece {
  return {
    prompt_tokens: usage.inputTokens,
    completion_tokens: usage.outputTokens,
    total_tokens: usage.inputTokens + usage.outputTokens,
    prompt_tokens_details: details({
      cached_tokens: usage.cachedInputTokens,
      cache_write_tokens: usage.cacheWriteTokens,
      audio_tokens: usage.audioInputTokens,
    }),
    completion_tokens_details: details({
      reasoning_tokens: usage.reasoningTokens,
      audio_tokens: usage.audioOutputTokens,
    }),
  };
}

function details(counts: Readonly<Record<string, number | undefined>>): Piece | undefined {
  return Object.values(counts).some((count) => count !== undefined) ? counts : undefined;
}

/** The usage of a blocked prompt for which none was reported. */
export const zeroUsage: ReplyUsage = {
  inputTokens: 0,
  outputTokens: 0,
  cachedInputTokens: undefined,
  cacheWriteTokens: undefined,
  reasoningTokens: undefined,
  audioInputTokens: undefined,
  audioOutputTokens: undefined,
};

/** Writes reasoning with its provider data in OpenRouter's form. */
export function reasoningDetail({ provider, kind, data }: ProviderData, text: string): Piece {
  const format = formats.get(provider) ?? unknownFormat;
  return kind === 'encrypted'
    ? { type: 'reasoning.encrypted', data, format }
    : { type: 'reasoning.text', text, signature: data, format };
}

const unknownFormat = 'openai-responses-v1';
const formats: ReadonlyMap<string, string> = new Map([
  ['anthropic', 'anthropic-claude-v1'],
  ['gemini', 'google-gemini-v1'],
]);

/** Returns the provider of reasoning in this format; the inverse of {@link reasoningDetail}. */
export function providerOfFormat(format: JsonValue | undefined): string {
  const [family] = typeof format === 'string' ? format.split('-', 1) : [];
  if (family === 'anthropic') return family;
  return family === 'google' ? 'gemini' : 'openai';
}

/**
 * Writes a signature in Google's form; a signature of another provider is written only with its
 * reasoning.
 */
export function signatureContent(providerData: ProviderData | undefined): Piece | undefined {
  return providerData?.provider === 'gemini'
    ? { google: { thought_signature: providerData.data } }
    : undefined;
}

/** Writes provider-specific content as a member of `extra_content`. */
export function providerContent({ provider, name, value }: EventOf<'provider_specific'>): Piece {
  const member = name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
  return { [provider === 'gemini' ? 'google' : provider]: { [member]: value } };
}

/** Writes an image in the form of OpenRouter and LiteLLM. */
export function imagePiece(
  { mimeType, data, providerData }: EventOf<'media'>,
  index: number,
): Piece {
  return {
    type: 'image_url',
    image_url: { url: dataUrl(mimeType, data) },
    index,
    extra_content: signatureContent(providerData),
  };
}

/** Writes an image URL. */
export function imageUrlPiece(url: string, index: number): Piece {
  return { type: 'image_url', image_url: { url }, index };
}

/**
 * Writes the metadata of audio. The audio is not stored for later turns, so it expires immediately.
 */
export function audioPiece({ id, createdSeconds }: ReplySource, mimeType: string): Piece {
  return { id: `audio-${id}`, expires_at: createdSeconds, transcript: '', mime_type: mimeType };
}

/** Returns whether the media type is audio; all other media are shown as images. */
export function isAudio(mimeType: string): boolean {
  return mimeType.startsWith('audio/');
}

/** Writes citations. The AI SDK rejects a reply in which one of these members is missing. */
export function annotationPieces(citations: readonly Citation[]): readonly Piece[] {
  return citations.map(({ url, title, start, end }) => ({
    type: 'url_citation',
    url_citation: { start_index: start ?? 0, end_index: end ?? 0, url, title: title ?? url },
  }));
}

/** Writes the logprobs of tokens. */
export function logprobPieces(tokens: readonly TokenLogprob[]): readonly Piece[] {
  return tokens.map(({ token, logprob, top }) => ({
    ...tokenPiece(token, logprob),
    top_logprobs: top.map((other) => tokenPiece(other.token, other.logprob)),
  }));
}

function tokenPiece(token: string, logprob: JsonNumber): Piece {
  return { token, logprob, bytes: [...Buffer.from(token)] };
}
