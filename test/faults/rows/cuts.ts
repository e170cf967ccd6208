/**
 * F35, F36, F38: a reply that is cut at every byte, by a reset, by the end of the connection, or by
 * a `Content-Length` that matches the cut.
 */

import { relayedNative } from '../../relay/oracle.ts';
import { brokenStream, fine, halfDone, noContent } from '../classes.ts';
import {
  apiOf,
  embeddingKinds,
  eventsFor,
  isMessages,
  isStream,
  type Kind,
  kinds,
  replyOf,
  typeOf,
} from '../kinds.ts';
import { openingEvents as messagesOpening, relayedMessages } from '../messages-kind.ts';
import { ends, reads, resets, type Script, sends } from '../raw-upstream.ts';
import { answer, head } from '../responses.ts';
import { openingEvents, relayedResponses } from '../responses-kind.ts';
import { allMounts, type ExpectedOfKinds, type FaultRow, isFull, isThin, oneMount } from './row.ts';

/** A way of cutting. */
interface Cut {
  readonly id: string;
  readonly way: string;
  readonly script: (kind: Kind, sent: string, whole: string) => Script;
  /** The transport's error; undefined if it takes the reply for complete. */
  readonly reason: string | undefined;
  /** With `TEST_FORM=full`, every n-th offset is cut. */
  readonly step: number;
  /** Otherwise every n-th offset, beginning at `from`: three ways of cutting take turns. */
  readonly turn?: { readonly every: number; readonly from: number };
}

const announced = (kind: Kind, whole: string): string =>
  head(200, { 'content-type': typeOf(kind), 'content-length': Buffer.byteLength(whole) });

const chunked = (kind: Kind, sent: string): string => {
  const start = head(200, { 'content-type': typeOf(kind), 'transfer-encoding': 'chunked' });
  const length = Buffer.byteLength(sent);
  return `${start}${length === 0 ? '' : `${length.toString(16)}\r\n${sent}\r\n`}`;
};

const cuts: readonly Cut[] = [
  {
    id: 'F35',
    way: 'reset short of its length',
    script: (kind, sent, whole) => [reads, sends(`${announced(kind, whole)}${sent}`), resets],
    reason: 'reset',
    step: 1,
    turn: { every: 3, from: 0 },
  },
  {
    id: 'F35',
    way: 'ended short of its length',
    script: (kind, sent, whole) => [reads, sends(`${announced(kind, whole)}${sent}`), ends],
    reason: 'reset',
    step: 7,
  },
  {
    id: 'F35',
    way: 'reset before its last chunk',
    script: (kind, sent) => [reads, sends(chunked(kind, sent)), resets],
    reason: 'reset',
    step: 7,
  },
  {
    id: 'F35',
    way: 'ended before its last chunk',
    script: (kind, sent) => [reads, sends(chunked(kind, sent)), ends],
    reason: 'reset',
    step: 7,
  },
  {
    id: 'F36',
    way: 'that lasts as long as the connection ended',
    script: (kind, sent) => [
      reads,
      sends(`${head(200, { 'content-type': typeOf(kind) })}${sent}`),
      ends,
    ],
    reason: undefined,
    step: 1,
    turn: { every: 3, from: 1 },
  },
  {
    id: 'F38',
    way: 'truncated to the length that it says',
    script: (kind, sent) => [reads, sends(answer(200, sent, { 'content-type': typeOf(kind) }))],
    reason: undefined,
    step: 3,
    turn: { every: 3, from: 2 },
  },
];

/** On the other mounts every n-th offset is cut. */
const otherMountsStep = 97;

/** Long replies are cut at fewer bytes, and around each event. */
const longStep = 29;

const isLong = (kind: Kind): boolean => apiOf(kind) === 'responses' || isMessages(kind);
/** `test/relay/embedding-failures.test.ts` cuts replies with vectors at every byte. */
const vectorsStep = 11;

/** Every n-th offset of those at which a reply is cut. */
function rarerOf(kind: Kind): number {
  if (isFull) return 1;
  if (isLong(kind)) return longStep;
  return embeddingKinds.some((one) => one === kind) ? vectorsStep : 1;
}

/** The rows: one for each offset of each kind's reply. */
export const rowsCuts: readonly FaultRow[] = rowsAt(offsetsOf);

/** A tenth of the offsets, and those around each event of a stream. */
export const sampledCuts: readonly FaultRow[] = rowsAt(sampledOffsets);

function rowsAt(offsets: typeof offsetsOf): readonly FaultRow[] {
  return cuts.flatMap((cut) =>
    kinds.flatMap((kind) => offsets(kind, cut).map((offset) => rowAt(cut, kind, offset))),
  );
}

function sampledOffsets(kind: Kind, { step, turn }: Cut): readonly number[] {
  const ends = isThin || turn === undefined ? [] : endsOf(kind);
  return everyOffset(kind).filter(
    (offset) => offset % (10 * step * rarerOf(kind)) === 0 || ends.includes(offset),
  );
}

function everyOffset(kind: Kind): readonly number[] {
  return Array.from({ length: replyOf(kind).length }, (_, at) => at);
}

function offsetsOf(kind: Kind, { step, turn }: Cut): readonly number[] {
  const { every, from } = turn === undefined || isFull ? { every: step, from: 0 } : turn;
  const rarer = rarerOf(kind);
  const ends = isLong(kind) && turn !== undefined ? endsOf(kind) : [];
  return everyOffset(kind).filter((offset) => {
    const isTurn = offset % (rarer * every) === from || ends.includes(offset);
    return isTurn || isSpreadAt(offset, rarer === 1 ? step : 2 * step);
  });
}

/** Before and after the blank line of each event of a stream. */
function endsOf(kind: Kind): readonly number[] {
  if (!isStream(kind)) return [];
  const lengths = eventsFor(kind).map(
    (_, at) =>
      eventsFor(kind)
        .slice(0, at + 1)
        .join('').length,
  );
  return lengths.flatMap((end) => [end - 2, end - 1, end]);
}

/** Offsets that are cut on every mount, with a single channel and with a healthy second one. */
function isSpreadAt(offset: number, step: number): boolean {
  return offset % otherMountsStep === 0 && offset % step === 0;
}

function rowAt(cut: Cut, kind: Kind, offset: number): FaultRow {
  const whole = replyOf(kind);
  const sent = whole.slice(0, offset);
  const isSpread = offset % otherMountsStep === 0;
  return {
    id: cut.id,
    fault: `a reply ${cut.way}, at byte ${offset}`,
    kinds: [kind],
    mounts: isSpread ? allMounts : oneMount,
    channelSetups: isSpread ? ['single', 'with_second'] : ['single'],
    upstream: () => cut.script(kind, sent, whole),
    expected: isStream(kind) ? ofStream(cut, kind, sent) : ofDocument(cut, sent),
    circumstances: { expectedBody: () => readAt(kind, sent) },
  };
}

function ofDocument({ reason }: Cut, sent: string): ExpectedOfKinds {
  if (reason !== undefined) return { ...halfDone, reason };
  return sent === '' ? { ...noContent, reason: 'upstream_empty' } : halfDone;
}

/**
 * Whether a stream is complete is judged by its content; once its usage has arrived, a cut does
 * not matter.
 */
function ofStream({ reason }: Cut, kind: Kind, sent: string): ExpectedOfKinds {
  const { hasEvents, passed, isDone, hasFinished, hasFigures } = progressOf(
    kind,
    sent,
    reason !== undefined,
  );
  if (isDone || (hasFinished && (reason === undefined || hasFigures))) {
    return { ...fine, charge: hasFigures ? 'usage' : 'observed' };
  }
  if (passed === 0) {
    // Less than the name of a field is stray text.
    const isLoose = /(?:^|\n)(?:d|da|dat|e|ev|eve|even)$/.test(sent);
    const unfinished = hasEvents ? 'upstream_stream_truncated' : 'upstream_empty';
    return { ...halfDone, reason: reason ?? (isLoose ? 'upstream_bad_stream' : unfinished) };
  }
  return {
    ...brokenStream,
    reason: reason ?? 'upstream_stream_truncated',
    charge: hasFigures ? 'usage' : 'observed',
  };
}

interface Progress {
  /** An event has arrived with its blank line, though it may have no content. */
  readonly hasEvents: boolean;
  /** The events with content that the caller received. */
  readonly passed: number;
  readonly isDone: boolean;
  readonly hasFinished: boolean;
  readonly hasFigures: boolean;
}

/**
 * The events before the cut. If the connection ended without an error, a complete event without
 * its blank line counts; an event of a chat is not forwarded if an error must follow it.
 */
function progressOf(kind: Kind, sent: string, isBroken: boolean): Progress {
  const list = eventsFor(kind);
  const ends = list.map((_, at) => list.slice(0, at + 1).join('').length);
  const framed = ends.filter((end) => sent.length >= end).length;
  const whole = ends.filter((end) => sent.length >= end - (isBroken ? 0 : 2)).length;
  if (kind === 'responses_stream') {
    const isDone = whole === list.length;
    return {
      hasEvents: framed > 0,
      passed: Math.max(0, whole - openingEvents.length),
      isDone,
      hasFinished: isDone,
      hasFigures: isDone,
    };
  }
  if (kind === 'messages_stream') {
    const isDone = whole === list.length;
    return {
      hasEvents: framed > 0,
      passed: Math.max(0, whole - messagesOpening.length),
      isDone,
      hasFinished: isDone,
      // The event before the last one has them.
      hasFigures: whole >= list.length - 1,
    };
  }
  return kind === 'chat_stream'
    ? {
        hasEvents: framed > 0,
        passed: framed,
        isDone: whole >= 4,
        hasFinished: whole >= 2,
        hasFigures: whole >= 3,
      }
    : {
        hasEvents: whole > 0,
        passed: whole,
        isDone: false,
        hasFinished: whole >= 2,
        hasFigures: whole >= 2,
      };
}

/** The caller's text of a stream that counts as complete: without the usage event. */
function readAt(kind: Kind, sent: string): string {
  if (kind === 'responses_stream') return relayedResponses(sent);
  if (kind === 'messages_stream') return relayedMessages(sent);
  if (kind !== 'chat_stream') return relayedNative(sent).text;
  const [one = '', two = '', three = ''] = eventsFor('chat_stream');
  const before = sent.slice(0, one.length + two.length);
  const behind = sent.slice(one.length + two.length + three.length);
  return `${before}${behind.startsWith('data: [DONE]') ? behind : ''}`;
}
