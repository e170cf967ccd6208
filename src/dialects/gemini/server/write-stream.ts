/**
 * Writes a streamed reply. Every event is a complete `GenerateContentResponse`, in the strict
 * framing that Google's parsers need.
 */
import { oneLine } from '../../../canonical/raw-json.ts';
import type { ContentEvent } from '../../../canonical/reply.ts';
import type { ContentStreamWriter, ReplyHead } from '../../codec.ts';
import { geminiErrorText } from '../errors.ts';
import { ReplyBuilder } from './reply-builder.ts';

interface Framing {
  document(text: string): string;
  end(): string;
  error(text: string): readonly string[];
}

/** Calls are sent whole: Google's clients can't join fragments. Finish and usage come last. */
export function writeStream(head: ReplyHead): ContentStreamWriter {
  const framing = head.framing === 'sse' ? sseFraming() : arrayFraming();
  const reply = new ReplyBuilder(head);
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

/** The fast path for a single piece of text, which nearly all events are. */
function onlyText(events: readonly ContentEvent[], reply: ReplyBuilder): string | undefined {
  const [event] = events;
  if (events.length !== 1 || event?.type !== 'text') return undefined;
  if (event.text === '' || event.providerData !== undefined) return undefined;
  const piece = reply.candidate(event.choice).textPiece(event.text);
  return piece === undefined ? undefined : `{"candidates":[${piece}]${reply.tail()}`;
}

function piecesOf(reply: ReplyBuilder): readonly string[] {
  const pieces: string[] = [];
  for (const candidate of reply.candidates()) {
    if (candidate.hasParts()) pieces.push(`{"candidates":[${candidate.piece()}]${reply.tail()}`);
  }
  return pieces;
}

function lastOf(reply: ReplyBuilder): readonly string[] {
  const prompt = reply.prompt();
  const tail = `${reply.usage()}${reply.tail()}`;
  if (prompt !== undefined) return [`{${prompt}${tail}`];
  return reply.candidatesByIndex().map((one) => `{"candidates":[${one.last()}]${tail}`);
}

/** SSE without comments, event lines and `[DONE]`: each of them breaks one of Google's clients. */
function sseFraming(): Framing {
  const document = (text: string): string => `data: ${oneLine(text)}\r\n\r\n`;
  return {
    document,
    end: () => '',
    // Some of the nine known clients read only the event, others only the bare document after it.
    error: (text) => [document(text), text],
  };
}

/** A JSON array that is sent piece by piece, for requests without `alt=sse`. */
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
