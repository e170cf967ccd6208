/** What stands beside the text of a reply: images, sound, probabilities, sources. */
import { parseDataUrl, sniffed } from '../../../canonical/media.ts';
import type { Citation, ContentEvent, TokenLogprob } from '../../../canonical/reply.ts';
import { isJsonNumber, items, type JsonValue, member } from '../../../json.ts';
import { words } from './words.ts';

/** An image as OpenRouter and its like give it: its bytes, or its address. */
export function imageEvents(image: JsonValue, choice: number): readonly ContentEvent[] {
  const holder = member(image, 'image_url');
  const url = words(member(holder, 'url')) || words(holder);
  if (/^https?:\/\//i.test(url)) return [{ type: 'media_url', choice, url }];
  const parsed = parseDataUrl(url);
  if (parsed === undefined || parsed.data === '') return [];
  return [{ type: 'media', choice, mimeType: parsed.mimeType ?? 'image/png', data: parsed.data }];
}

/** Bare samples, which say nothing of themselves: 24,000 a second at OpenAI, as at Google. */
const bareSamples = 'audio/pcm;rate=24000';

/** The form of a sound that begins with this data, by its own bytes: vendors don't say it. */
export function audioTypeOf(audio: JsonValue): string | undefined {
  const data = words(member(audio, 'data'));
  return data === '' ? undefined : (sniffed(data) ?? bareSamples);
}

/** A sound, and what is said in it where the message has no other text. */
export function audioEvents(
  audio: JsonValue | undefined,
  { choice, mimeType }: { readonly choice: number; readonly mimeType: string },
): readonly ContentEvent[] {
  const text = words(member(audio, 'transcript'));
  const data = words(member(audio, 'data'));
  const said: readonly ContentEvent[] = text === '' ? [] : [{ type: 'text', choice, text }];
  return data === '' ? said : [...said, { type: 'media', choice, mimeType, data }];
}

/** The probabilities of a choice or of one piece of it. */
export function logprobEvents(node: JsonValue, choice: number): readonly ContentEvent[] {
  const content = items(member(member(node, 'logprobs'), 'content'));
  const tokens = content.flatMap((entry) => {
    const [token] = tokenOf(entry);
    if (token === undefined) return [];
    return [{ ...token, top: items(member(entry, 'top_logprobs')).flatMap(tokenOf) }];
  });
  return tokens.length === 0 ? [] : [{ type: 'logprobs', choice, tokens }];
}

/** The sources of a message or of one piece of it. */
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
  const url = words(member(source, 'url'));
  if (url === '') return [];
  return [
    {
      url,
      title: words(member(source, 'title')) || undefined,
      start: offsetOf(member(source, 'start_index')),
      end: offsetOf(member(source, 'end_index')),
    },
  ];
}

function offsetOf(value: JsonValue | undefined): number | undefined {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 ? value : undefined;
}
