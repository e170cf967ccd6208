/** F42–F50: streams with unusual framing, and streams that break off, fail or fall silent. */

import { setImmediate } from 'node:timers/promises';
import { relayedChat, relayedNative } from '../../relay/oracle.ts';
import { pieces } from '../../relay/streams.ts';
import { brokenStream, everywhere, fine, mayHaveRun, notRun } from '../classes.ts';
import {
  dividedEvents,
  eventsFor,
  framed,
  type Kind,
  replyOf,
  streamKinds,
  typeOf,
} from '../kinds.ts';
import { messagesEvent, relayedMessages } from '../messages-kind.ts';
import {
  ends,
  reads,
  type Script,
  type Step,
  saysBytewise,
  sends,
  stalls,
  waitsFor,
} from '../raw-upstream.ts';
import { answer, head } from '../responses.ts';
import { relayedResponses, responsesEvent } from '../responses-kind.ts';
import { type ExpectedOfKinds, type FaultRow, isFull, oneMount } from './row.ts';

const streams: Pick<FaultRow, 'kinds' | 'mounts'> = { ...everywhere, kinds: streamKinds };
/** The kinds whose streams are so short that each is written in every way. */
const shortStreams: readonly Kind[] = ['chat_stream', 'native_stream'];
const chats: Pick<FaultRow, 'kinds' | 'mounts'> = { ...everywhere, kinds: ['chat_stream'] };

/** The head of a stream that lasts as long as its connection. */
const open = head(200, { 'content-type': 'text/event-stream' });

/** The stream up to its first content. */
const firstOf = (kind: Kind): string => dividedEvents(kind)[0];

/** The caller's text, by an oracle that shares no code with the gateway. */
const relayedAs = (kind: Kind, text: string): string => {
  if (kind === 'responses_stream') return relayedResponses(text);
  if (kind === 'messages_stream') return relayedMessages(text);
  return kind === 'chat_stream' ? relayedChat(text, false).text : relayedNative(text).text;
};

/** A stream with this text in one write. */
const whole =
  (textOf: (kind: Kind) => string): FaultRow['upstream'] =>
  (kind) => [reads, sends(answer(200, textOf(kind), { 'content-type': 'text/event-stream' }))];

/** Ways to frame the documents of a stream. */
const framings: readonly (readonly [string, (document: string) => string])[] = [
  ['LF', (document) => `data: ${document}\n\n`],
  ['CRLF', (document) => `data: ${document}\r\n\r\n`],
  ['CR', (document) => `data: ${document}\r\r`],
  ['no space', (document) => `data:${document}\n\n`],
  ['an id and a retry', (document) => `id: 1\nretry: 5\ndata: ${document}\n\n`],
  ['an event’s name', (document) => `event: message\ndata: ${document}\n\n`],
  ['comments', (document) => `: ping\ndata: ${document}\n\n`],
  ['several lines', (document) => `data: ${document.replace(',', ',\ndata: ')}\n\n`],
];

const documentsOf = (kind: Kind): readonly string[] =>
  eventsFor(kind).map((event) => event.slice(event.indexOf('data: ') + 'data: '.length).trim());

const ways: readonly (readonly [string, (text: string) => Step])[] = [
  ['at once', (text) => sends(text)],
  ['byte by byte', saysBytewise],
  ...Array.from(
    { length: 12 },
    (_, seed) =>
      [`in pieces ${seed}`, (text: string) => sends(...pieces(Buffer.from(text), seed))] as const,
  ),
];

/** The ways in which long streams are written too. */
const isForLong = (framing: string, way: string): boolean =>
  way === 'at once' || way === (framing === 'LF' ? 'byte by byte' : 'in pieces 0');

const rowsFraming: readonly FaultRow[] = framings.flatMap(([name, frame]) =>
  ways.map(([way, step]): FaultRow => {
    const textOf = (kind: Kind): string => documentsOf(kind).map(frame).join('');
    return {
      id: 'F42',
      fault: `framed by ${name}, ${way}`,
      kinds: isFull || isForLong(name, way) ? streamKinds : shortStreams,
      mounts: way === 'at once' ? everywhere.mounts : oneMount,
      channelSetups: ['single'],
      upstream: (kind) => [reads, sends(open), step(textOf(kind)), ends],
      circumstances: { expectedBody: (kind) => relayedAs(kind, textOf(kind)) },
      expected: fine,
    };
  }),
);

const mebibytes = (count: number): string => 'x'.repeat(count * 1024 * 1024);
const long = (kind: Kind, count: number): string => firstOf(kind).replace('Once', mebibytes(count));

/** The codes and types by which each dialect states an error. */
interface StatedError {
  readonly code: number;
  readonly type: string;
  readonly openai: string;
  readonly anthropic: string;
}

/** An error event of a dialect, with every secret. */
const failure =
  ({ code, type, openai, anthropic }: StatedError): ((kind: Kind, leak: string) => string) =>
  (kind, leak) => {
    const error = { message: leak, type, code: openai, param: null };
    if (kind === 'messages_stream') {
      return messagesEvent('error', { error: { type: anthropic, message: leak } });
    }
    if (kind === 'native_stream') return framed({ error: { code, message: leak, status: 'SAID' } });
    return kind === 'chat_stream' ? framed({ error }) : responsesEvent('error', 4, { error });
  };

const serverError: StatedError = {
  code: 500,
  type: 'server_error',
  openai: 'server_error',
  anthropic: 'api_error',
};
const rateLimited: StatedError = {
  code: 429,
  type: 'rate_limit_exceeded',
  openai: 'rate_limit_exceeded',
  anthropic: 'rate_limit_error',
};
const invalidKey: StatedError = {
  code: 401,
  type: 'invalid_request_error',
  openai: 'invalid_api_key',
  anthropic: 'authentication_error',
};

/** An error after an event that the caller has received, and one in the same write as an event. */
const failsWith = (
  name: string,
  event: (kind: Kind, leak: string) => string,
  reason: string,
  reported: { readonly late: ExpectedOfKinds['callerGets']; readonly early: ExpectedOfKinds },
): readonly FaultRow[] => [
  {
    id: 'F47',
    fault: `${name} after the first event`,
    ...streams,
    upstream: (kind, leak, begun): Script => [
      reads,
      sends(`${open}${firstOf(kind)}`),
      waitsFor(begun),
      sends(event(kind, leak)),
      ends,
    ],
    // The signal that the caller has received something is given only once.
    channelSetups: ['single', 'with_second'],
    expected: { ...brokenStream, callerGets: reported.late, reason, health: reported.early.health },
  },
  {
    id: 'F47',
    fault: `${name} in the same write as the first event`,
    ...streams,
    upstream: (kind, leak): Script => [
      reads,
      sends(`${open}${firstOf(kind)}${event(kind, leak)}`),
      ends,
    ],
    expected: { ...brokenStream, callerGets: reported.late, reason, health: reported.early.health },
  },
];

/** Comments until the connection closes. */
const pings: Step = async ({ socket, stalled }) => {
  stalled();
  while (socket.writable) {
    socket.write(': ping\n\n');
    await setImmediate();
  }
};

const late: ExpectedOfKinds = {
  ...brokenStream,
  callerGets: 'broken: upstream_timeout',
  health: 'timed_out',
};
/** The status line waits for content for 15 s at most; a failure after that costs nothing. */
const unsaid = { charge: 'nothing', outcome: 'unknown' } as const;
const silent = { advances: { afterStallIn: 'body', ms: 130_000 } } as const;
const onlyPings = { advances: { afterStallIn: 'body', ms: 310_000 } } as const;

const usageFrame = (usage: object): string => framed({ choices: [], usage });
const [one = '', two = '', three = '', done = ''] = eventsFor('chat_stream');

/** A chat with unusual usage. */
const figures = (fault: string, text: string, charge: 'usage' | 'observed'): FaultRow => ({
  id: 'F50',
  fault,
  ...chats,
  upstream: whole(() => text),
  circumstances: { expectedBody: (kind) => relayedAs(kind, text) },
  expected: { ...fine, charge },
});

/** The rows. */
export const rowsStreams: readonly FaultRow[] = [
  ...rowsFraming,
  {
    id: 'F42',
    fault: 'with a byte order mark',
    ...streams,
    upstream: whole((kind) => `\uFEFF${replyOf(kind)}`),
    circumstances: {
      // Google's parsers fail on the mark, so the event with it is framed again.
      expectedBody: (kind) =>
        kind === 'chat_stream'
          ? relayedAs(kind, `\uFEFF${replyOf(kind)}`)
          : replyOf(kind).replace('\n\n', '\r\n\r\n'),
    },
    expected: fine,
  },
  {
    id: 'F43',
    fault: 'a line of 16 MiB',
    ...streams,
    mounts: oneMount,
    channelSetups: ['single'],
    upstream: (kind) => [reads, sends(open, long(kind, 16), ...dividedEvents(kind)[1]), ends],
    circumstances: {
      expectedBody: (kind) => relayedAs(kind, replyOf(kind)).replace(firstOf(kind), long(kind, 16)),
    },
    expected: fine,
  },
  {
    id: 'F43',
    fault: 'a line of 40 MiB',
    ...streams,
    mounts: oneMount,
    channelSetups: ['single'],
    upstream: (kind) => [reads, sends(open, firstOf(kind), long(kind, 40)), ends],
    expected: { ...brokenStream, reason: 'event_too_large' },
  },
  {
    id: 'F44',
    fault: 'no blank line at the end',
    ...streams,
    upstream: (kind) => [reads, sends(`${open}${replyOf(kind).slice(0, -1)}`), ends],
    circumstances: { expectedBody: (kind) => relayedAs(kind, replyOf(kind).slice(0, -1)) },
    expected: fine,
  },
  {
    id: 'F44',
    fault: 'no line end at the end',
    ...streams,
    upstream: (kind) => [reads, sends(`${open}${replyOf(kind).slice(0, -2)}`), ends],
    circumstances: { expectedBody: (kind) => relayedAs(kind, replyOf(kind).slice(0, -2)) },
    expected: fine,
  },
  {
    id: 'F45',
    fault: 'data after [DONE]',
    ...chats,
    upstream: () => [
      reads,
      sends(`${open}${replyOf('chat_stream')}${framed({ late: true })}`),
      ends,
    ],
    expected: fine,
  },
  {
    id: 'F45',
    fault: 'nothing after [DONE], and no end: the connection is closed',
    ...chats,
    upstream: () => [reads, sends(`${open}${replyOf('chat_stream')}`), stalls],
    // The upstream has a second of real time to end by itself.
    channelSetups: ['single', 'with_second'],
    circumstances: { closesConnection: true },
    expected: fine,
  },
  {
    id: 'F46',
    fault: 'neither [DONE] nor a finish',
    ...streams,
    upstream: (kind) => [
      reads,
      sends(answer(200, firstOf(kind), { 'content-type': typeOf(kind) })),
    ],
    expected: brokenStream,
  },
  ...failsWith('a 500', failure(serverError), 'upstream_error', {
    late: 'broken',
    early: mayHaveRun,
  }),
  ...failsWith('a 429', failure(rateLimited), 'upstream_rate_limited', {
    late: 'broken: upstream_rate_limited',
    early: {
      ...notRun,
      callerGets: 'upstream_rate_limited',
      retryAfter: 10,
      health: 'cooling_down',
    },
  }),
  ...failsWith('a 401', failure(invalidKey), 'upstream_auth_error', {
    late: 'broken',
    early: { ...notRun, health: 'refused', lasts: true },
  }),
  {
    id: 'F48',
    fault: 'an event that is not JSON',
    ...streams,
    upstream: whole((kind) => `${firstOf(kind)}data: {"oops\n\n${replyOf(kind)}`),
    // The usage of a response is read even after the error.
    expected: {
      ...brokenStream,
      reason: 'upstream_bad_stream',
      responsesStream: { charge: 'usage' },
    },
  },
  {
    id: 'F49',
    fault: 'no event, then nothing',
    ...streams,
    upstream: () => [reads, sends(open), stalls],
    circumstances: silent,
    expected: { ...late, ...unsaid, reason: 'idle_timeout' },
  },
  {
    id: 'F49',
    fault: 'one event, then nothing',
    ...streams,
    upstream: (kind) => [reads, sends(`${open}${firstOf(kind)}`), stalls],
    circumstances: silent,
    expected: { ...late, reason: 'idle_timeout' },
  },
  {
    id: 'F49',
    fault: 'nothing but pings',
    ...streams,
    upstream: () => [reads, sends(open), pings],
    circumstances: onlyPings,
    expected: { ...late, ...unsaid, reason: 'silent_stream' },
  },
  {
    id: 'F49',
    fault: 'one event, then nothing but pings',
    ...streams,
    upstream: (kind) => [reads, sends(`${open}${firstOf(kind)}`), pings],
    circumstances: onlyPings,
    expected: { ...late, reason: 'silent_stream' },
  },
  figures('no figures', `${one}${two}${done}`, 'observed'),
  figures(
    'figures twice',
    `${one}${two}${usageFrame({ prompt_tokens: 1 })}${three}${done}`,
    'usage',
  ),
  figures('figures before the end', `${one}${three}${two}${done}`, 'usage'),
  figures(
    'absurd counts after valid ones',
    `${one}${two}${three}${usageFrame({ prompt_tokens: -1, completion_tokens: 1.5 })}${done}`,
    'usage',
  ),
  figures(
    'figures that are no numbers',
    `${one}${two}${usageFrame({ prompt_tokens: 'ten', completion_tokens: null })}${done}`,
    'observed',
  ),
  figures(
    'negative figures',
    `${one}${two}${usageFrame({ prompt_tokens: -10, completion_tokens: -5 })}${done}`,
    'observed',
  ),
];
