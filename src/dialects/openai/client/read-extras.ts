/** Reads what a reply holds besides text: images, audio, logprobs, citations. */
import { parseDataUrl, sniffMimeType } from '../../../canonical/media.ts';
import type { Citation, ContentEvent, TokenLogprob } from '../../../canonical/reply.ts';
import { isJsonNumber, items, type JsonValue, member } from '../../../json.ts';
import { stringOrEmpty } from './string-or-empty.ts';

/** Reads an image in the form of OpenRouter and similar vendors: its data or its URL. */
export function imageEvents(image: JsonValue, choice: number): readonly ContentEvent[] {
  const holder = member(image, 'image_url');
  const url = stringOrEmpty(member(holder, 'url')) || stringOrEmpty(holder);
  if (/^https?:\/\//i.test(url)) return [{ type: 'media_url', choice, url }];
  const parsed = parseDataUrl(url);
  if (parsed === undefined || parsed.data === '') return [];
  return [{ type: 'media', choice, mimeType: parsed.mimeType ?? 'image/png', data: parsed.data }];
}

/** Raw samples without a header: OpenAI and Google send 24,000 per second. */
const rawPcm = 'audio/pcm;rate=24000';

/** Detects the media type of audio from its first bytes, because vendors do not state it. */
export function audioTypeOf(audio: JsonValue): string | undefined {
  const data = stringOrEmpty(member(audio, 'data'));
  return data === '' ? undefined : (sniffMimeType(data) ?? rawPcm);
}

/** Reads audio, and its transcript as text. */
export function audioEvents(
  audio: JsonValue | undefined,
  { choice, mimeType }: { readonly choice: number; readonly mimeType: string },
): readonly ContentEvent[] {
  const text = stringOrEmpty(member(audio, 'transcript'));
  const data = stringOrEmpty(member(audio, 'data'));
  const transcriptEvents: readonly ContentEvent[] =
    text === '' ? [] : [{ type: 'text', choice, text }];
  return data === ''
    ? transcriptEvents
    : [...transcriptEvents, { type: 'media', choice, mimeType, data }];
}

/** Reads the logprobs of a choice or of one piece of it. */
export function logprobEvents(node: JsonValue, choice: number): readonly ContentEvent[] {
  const content = items(member(member(node, 'logprobs'), 'content'));
  const tokens = content.flatMap((entry) => {
    const [token] = tokenOf(entry);
    if (token === undefined) return [];
    return [{ ...token, top: items(member(entry, 'top_logprobs')).flatMap(tokenOf) }];
  });
  return tokens.length === 0 ? [] : [{ type: 'logprobs', choice, tokens }];
}

/** Reads the citations of a message or of one piece of it. */
export function citationEvents(message: JsonValue, choice: number): readonly ContentEvent[] {
  const citations = items(member(message, 'annotations')).flatMap(citationOf);
  return citations.length === 0 ? [] : [{ type: 'citations', choice, citations }];
}

function tokenOf(entry: JsonValue): readonly Omit<TokenLogprob, 'top'>[] {
  const token = member(entry, 'token');
  const logprob = member(entry, 'logprob');
  if (typeof token !== 'string' || !isJsonNumber(logprob)) return [];
  return [{ token, logprob }];
}

function citationOf(annotation: JsonValue): readonly Citation[] {
  const source = member(annotation, 'url_citation') ?? annotation;
  const url = stringOrEmpty(member(source, 'url'));
  if (url === '') return [];
  return [
    {
      url,
      title: stringOrEmpty(member(source, 'title')) || undefined,
      start: offsetOf(member(source, 'start_index')),
      end: offsetOf(member(source, 'end_index')),
    },
  ];
}

function offsetOf(value: JsonValue | undefined): number | undefined {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 ? value : undefined;
}
