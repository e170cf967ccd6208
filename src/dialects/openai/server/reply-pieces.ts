/**
 * The words of a chat reply that a whole one and a stream share: ends, figures, signatures, images,
 * sources (WIRE §2.2; TRANSLATION §5, §6.13–§6.15).
 */
import { dataUrl } from '../../../canonical/media.ts';
import type { ProviderData } from '../../../canonical/provider-data.ts';
import type {
  Citation,
  ContentEvent,
  FinishReason,
  ReplyUsage,
  TokenLogprob,
} from '../../../canonical/reply.ts';
import type { JsonNumber, JsonValue } from '../../../json.ts';

/** A piece of a reply to be written; members that are undefined are left out. */
export interface Piece {
  readonly [name: string]: PieceValue;
}

/** What a {@link Piece} may hold. */
export type PieceValue = JsonValue | undefined | Piece | readonly Piece[];

/** An event of one type. */
export type EventOf<Type extends ContentEvent['type']> = Extract<
  ContentEvent,
  { readonly type: Type }
>;

/** An event that belongs to a choice. */
export type ChoiceEvent = Extract<ContentEvent, { readonly choice: number }>;

/** Which reply a piece stands in. */
export interface ReplySource {
  readonly id: string;
  readonly createdSeconds: number;
}

/** The id of a reply, with the prefix that callers know completions by. */
export function replyId(upstreamId: string | undefined, fallbackId: string): string {
  const id = upstreamId === undefined || upstreamId === '' ? fallbackId : upstreamId;
  return id.startsWith(idPrefix) ? id : `${idPrefix}${id}`;
}

const idPrefix = 'chatcmpl-';

/** The word a caller acts on: calls are to be run unless the answer was cut or blocked. */
export function finishReason(reason: FinishReason, hasCalls: boolean): string {
  if (reason === 'content_filter' || reason === 'length') return reason;
  return hasCalls ? 'tool_calls' : 'stop';
}

/** Why a filter stepped in, where the upstream says so: all there is to show of a refusal. */
export function filterMessage(finish: EventOf<'finish'> | undefined): string | null {
  return finish?.reason === 'content_filter' ? finish.message || null : null;
}

/** What stands in for the answer to a prompt that was blocked. */
export function blockedMessage({ reason, message }: EventOf<'blocked'>): string {
  const sentence = `Prompt blocked: ${reason}`;
  return message === undefined || message === '' ? sentence : `${sentence}. ${message}`;
}

/** The figures of a reply; those the upstream did not give are left out. */
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

function details(figures: Readonly<Record<string, number | undefined>>): Piece | undefined {
  return Object.values(figures).some((figure) => figure !== undefined) ? figures : undefined;
}

/** What a blocked prompt cost where nobody said. */
export const zeroUsage: ReplyUsage = {
  inputTokens: 0,
  outputTokens: 0,
  cachedInputTokens: undefined,
  cacheWriteTokens: undefined,
  reasoningTokens: undefined,
  audioInputTokens: undefined,
  audioOutputTokens: undefined,
};

/** A thought with what its provider wants back with it, in OpenRouter's form. */
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

/** The provider whose thoughts are in this format: the way back of {@link reasoningDetail}. */
export function providerOfFormat(format: JsonValue | undefined): string {
  const [family] = typeof format === 'string' ? format.split('-', 1) : [];
  if (family === 'anthropic') return family;
  return family === 'google' ? 'gemini' : 'openai';
}

/** Google's own place for a signature; another provider's has none outside the thoughts. */
export function signatureContent(providerData: ProviderData | undefined): Piece | undefined {
  return providerData?.provider === 'gemini'
    ? { google: { thought_signature: providerData.data } }
    : undefined;
}

/** The place of what one provider alone says. */
export function providerContent({ provider, name, value }: EventOf<'provider_specific'>): Piece {
  const member = name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
  return { [provider === 'gemini' ? 'google' : provider]: { [member]: value } };
}

/** An image as OpenRouter and LiteLLM write it. */
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

/** An image that lies at an address. */
export function imageUrlPiece(url: string, index: number): Piece {
  return { type: 'image_url', image_url: { url }, index };
}

/** What a sound says of itself. Nobody keeps it for later turns, so it has expired already. */
export function audioPiece({ id, createdSeconds }: ReplySource, mimeType: string): Piece {
  return { id: `audio-${id}`, expires_at: createdSeconds, transcript: '', mime_type: mimeType };
}

/** Whether the medium is a sound; all else is shown as an image. */
export function isAudio(mimeType: string): boolean {
  return mimeType.startsWith('audio/');
}

/** The sources of a text; the AI SDK refuses a reply in which one of these is missing. */
export function annotationPieces(citations: readonly Citation[]): readonly Piece[] {
  return citations.map(({ url, title, start, end }) => ({
    type: 'url_citation',
    url_citation: { start_index: start ?? 0, end_index: end ?? 0, url, title: title ?? url },
  }));
}

/** The probabilities of some tokens. */
export function logprobPieces(tokens: readonly TokenLogprob[]): readonly Piece[] {
  return tokens.map(({ token, logprob, top }) => ({
    ...tokenPiece(token, logprob),
    top_logprobs: top.map((other) => tokenPiece(other.token, other.logprob)),
  }));
}

function tokenPiece(token: string, logprob: JsonNumber): Piece {
  return { token, logprob, bytes: [...Buffer.from(token)] };
}
