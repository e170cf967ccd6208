/**
 * Translates a streamed reply: the upstream's events in, the caller's out. Whatever an upstream may
 * send in place of well-framed events ends as an error, never in silence (TRANSLATION §7.1).
 */

import { eventCutter, eventsIn, noBytes, type SseEvent } from '../bytes/sse.ts';
import { mediaKindOf } from '../canonical/media.ts';
import { type ContentEvent, chargeableUsage } from '../canonical/reply.ts';
import { UpstreamError } from '../errors.ts';
import { parseExactly } from '../exact-numbers.ts';
import { items, type JsonValue, member } from '../json.ts';
import type { Usage } from '../money.ts';
import type { ContentStreamReader, ContentStreamWriter } from './codec.ts';
import type { Dialect } from './dialect.ts';
import {
  billedReply,
  brokenReply,
  type FailureReport,
  maxEventBytes,
  type StreamTap,
} from './tap.ts';

/** The two ends of a translated stream. */
export interface TranslateTapOptions {
  readonly upstream: Pick<Dialect, 'readFailure' | 'inBandFailure'>;
  readonly reader: ContentStreamReader;
  readonly writer: ContentStreamWriter;
  /** Reads a whole reply that came in place of a stream. */
  readonly readReply: (reply: JsonValue) => readonly ContentEvent[];
}

/** The longest event and as much again around it; the calls of a whole answer are far smaller. */
const maxSilentBytes = 2 * maxEventBytes;

/** A fresh one for each reply. */
export function translateTap(options: TranslateTapOptions): StreamTap {
  const { upstream, reader, writer } = options;
  const cutter = eventCutter(maxEventBytes);
  let failure: FailureReport | undefined;
  let usage: Usage | undefined;
  let tokens = 0;
  /** How many tokens had been counted when the last figures came. */
  let tokensInUsage = 0;
  /** What has come since something last went on: readers and writers may hold all of it. */
  let silentBytes = 0;
  /** Text that was never framed; only its end says what it is. */
  let unframed = '';
  let done = false;
  let ended = false;
  let replyCame = false;
  let spoken = 0;

  const tell = (events: readonly ContentEvent[]): string => {
    for (const event of events) {
      if (event.type === 'usage') {
        usage = chargeableUsage(event.usage);
        tokensInUsage = tokens;
      } else if (event.type === 'unusable') failure = billedReply(event.reason);
      // Nothing was made: figures that nobody gave are zeros (TRANSLATION §6.14).
      else if (event.type === 'blocked') usage ??= noTokens;
      else tokens += tokensOf(event);
    }
    return failure === undefined && events.length > 0 ? writer.write(events) : '';
  };

  const take = ({ name, data, loose }: SseEvent): string => {
    if (loose !== '') unframed += `${loose}\n`;
    if (unframed.length > maxEventBytes) failure = brokenReply('upstream_bad_stream');
    if (failure !== undefined || data === undefined || data.trim() === '') return '';
    if (data.trim() === '[DONE]') {
      done = true;
      // Only the reader knows whether its dialect ends so: a proxy's word makes no reply whole.
      return tell(reader.read('[DONE]'));
    }
    const document = parseExactly(data);
    failure = failureIn(upstream, name, data, document);
    // Anthropic's pings are events like any other.
    if (member(document, 'type') !== 'ping') spoken += 1;
    return failure !== undefined || document === undefined ? '' : tell(reader.read(document));
  };

  const takeAll = (block: Uint8Array): string => {
    let text = '';
    if (block.length === 0) return text;
    for (const event of eventsIn(block)) {
      text += take(event);
      if (done || failure !== undefined) break;
    }
    return text;
  };

  /** A whole document, an array of them, or an error that never was an event. */
  const takeUnframed = (): string => {
    if (unframed.trim() === '' || done || failure !== undefined) return '';
    const document = parseExactly(unframed);
    const elements = Array.isArray(document) ? items(document) : [document];
    let text = '';
    for (const element of elements) {
      failure = failureIn(upstream, undefined, unframed, element);
      if (failure !== undefined || element === undefined) break;
      replyCame = !Array.isArray(document);
      text += tell(replyCame ? options.readReply(element) : reader.read(element));
    }
    return text;
  };

  const complete = (): boolean => replyCame || reader.complete();

  /** Figures that came before the end, as Anthropic's do, say nothing of what was made since. */
  const usageSoFar = (): Usage | undefined =>
    usage === undefined || complete()
      ? usage
      : { ...usage, outputTokens: usage.outputTokens + tokens - tokensInUsage };

  const write = (chunk: Uint8Array): string => {
    if (done) return '';
    const text = takeAll(cutter.push(chunk));
    silentBytes = text === '' ? silentBytes + chunk.length : 0;
    if (silentBytes > maxSilentBytes) throw new UpstreamError('body', 'event_too_large');
    return text;
  };

  const end = (): string => {
    if (ended || failure !== undefined) return '';
    ended = true;
    let text = takeAll(done ? noBytes : cutter.rest()) + takeUnframed();
    if (failure === undefined && complete() && !replyCame) text += tell(reader.end());
    return failure === undefined && complete() ? text + writer.end() : text;
  };

  return {
    write: (chunk) => encoded(write(chunk)),
    end: () => encoded(end()),
    finished: () => done,
    complete,
    failure: () => failure,
    usage: usageSoFar,
    countedTokens: () => tokens,
    progress: () => spoken,
    breakOff: (error) => writer.breakOff(error).map((piece) => Buffer.from(piece)),
  };
}

/** An error by its content, by the event's name, or because it can't be read at all. */
function failureIn(
  upstream: TranslateTapOptions['upstream'],
  name: string | undefined,
  text: string,
  document: JsonValue | undefined,
): FailureReport | undefined {
  if (document === undefined) return brokenReply('upstream_bad_stream');
  const failure = upstream.inBandFailure(document);
  if (failure !== undefined || name !== 'error') return failure;
  return upstream.readFailure(502, Buffer.from(text));
}

/** What the charge rests on where the upstream gives no figures: a token for every three bytes. */
function tokensOf(event: ContentEvent): number {
  switch (event.type) {
    case 'text':
    case 'reasoning':
    case 'refusal':
    case 'tool_arguments':
      return Math.ceil(Buffer.byteLength(event.text) / 3);
    case 'tool_begin':
      return Math.ceil(Buffer.byteLength(event.name + event.arguments) / 3);
    case 'media':
      return mediaTokensOf(event);
    default:
      return 0;
  }
}

/** What Google counts for one image of an answer. */
const imageTokens = 1_290;
/** A twentieth of a second at 24,000 samples of two bytes, in Base64. */
const charsPerSoundToken = 3_200;

/** A sound comes in many pieces, and each is as much as it holds. */
function mediaTokensOf({ mimeType, data }: Pick<MediaEvent, 'mimeType' | 'data'>): number {
  return mediaKindOf(mimeType) === 'audio'
    ? Math.ceil(data.length / charsPerSoundToken)
    : imageTokens;
}

type MediaEvent = Extract<ContentEvent, { readonly type: 'media' }>;

const noTokens: Usage = { inputTokens: 0, cachedInputTokens: 0, outputTokens: 0, images: 0 };

function encoded(text: string): Uint8Array {
  return text === '' ? noBytes : Buffer.from(text);
}
