/**
 * Writes a streamed reply: every event a whole `GenerateContentResponse`, framed as strictly as
 * Google's own parsers want it (WIRE §4.3).
 */
import type { ContentEvent } from '../../../canonical/reply.ts';
import type { ContentStreamWriter, ReplyHead } from '../../codec.ts';
import { geminiErrorText } from '../errors.ts';
import { byIndex, type GatheredReply, gatheredReply } from './gathered-reply.ts';

/** How documents become a body. */
interface Framing {
  /** One document of the stream. */
  document(text: string): string;
  end(): string;
  error(text: string): readonly string[];
}

/**
 * A fresh one for each reply. A call goes out when it is whole, for Google's clients can't join the
 * pieces of one; finish and figures are held for the last event, where they look for both.
 */
export function writeStream(head: ReplyHead): ContentStreamWriter {
  const framing = head.framing === 'sse' ? sseFraming() : arrayFraming();
  const reply = gatheredReply(head);
  let hasEnded = false;

  return {
    write: (events) => {
      const text = onlyText(events, reply);
      if (text !== undefined) return framing.document(text);
      for (const event of events) reply.add(event);
      return piecesOf(reply).map(framing.document).join('');
    },
    end: () => {
      hasEnded = true;
      return `${lastOf(reply).map(framing.document).join('')}${framing.end()}`;
    },
    breakOff: (error) => {
      if (hasEnded) return [];
      hasEnded = true;
      return framing.error(oneLine(geminiErrorText(error)));
    },
  };
}

/** Nearly every event of a stream is one piece of text: it skips what gathers the others. */
function onlyText(events: readonly ContentEvent[], reply: GatheredReply): string | undefined {
  const [event] = events;
  if (events.length !== 1 || event?.type !== 'text') return undefined;
  if (event.text === '' || event.providerData !== undefined) return undefined;
  const piece = reply.candidate(event.choice).textPiece(event.text);
  return piece === undefined ? undefined : `{"candidates":[${piece}]${reply.tail()}`;
}

function piecesOf(reply: GatheredReply): readonly string[] {
  const pieces: string[] = [];
  for (const candidate of reply.candidates()) {
    if (candidate.hasParts()) pieces.push(`{"candidates":[${candidate.piece()}]${reply.tail()}`);
  }
  return pieces;
}

function lastOf(reply: GatheredReply): readonly string[] {
  const prompt = reply.prompt();
  const tail = `${reply.usage()}${reply.tail()}`;
  if (prompt !== undefined) return [`{${prompt}${tail}`];
  return byIndex(reply.candidates()).map((one) => `{"candidates":[${one.last()}]${tail}`);
}

/** No comments, no event lines, no `[DONE]`: each of them kills one of Google's clients. */
function sseFraming(): Framing {
  const document = (text: string): string => `data: ${oneLine(text)}\r\n\r\n`;
  return {
    document,
    end: () => '',
    // Of the nine clients some read only the event and some only the bare document behind it.
    error: (text) => [document(text), text],
  };
}

/** The array that is sent piece by piece where the caller asked for no `alt=sse`. */
function arrayFraming(): Framing {
  let isOpen = false;
  return {
    document: (text) => {
      const opening = isOpen ? '\r\n,' : '[';
      isOpen = true;
      return `${opening}${text}`;
    },
    end: () => (isOpen ? '\r\n]' : '[]'),
    error: (text) => [isOpen ? `,${text}\r\n]` : `[${text}]`],
  };
}

/** Some parsers take these two for line ends, and JSON lets them stand bare in a string. */
function oneLine(text: string): string {
  return text.replace(/[\u2028\u2029]/g, (separator) =>
    separator === '\u2028' ? '\\u2028' : '\\u2029',
  );
}
