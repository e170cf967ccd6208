/**
 * F31, F42, F45–F47, F49, F50 as the Messages API has them: failures by their types in every form
 * that an event can give them, named events, streams without their last event, and their usage.
 */
import { setImmediate } from 'node:timers/promises';
import {
  brokenStream,
  everywhere,
  fine,
  halfDone,
  mayHaveRun,
  notRun,
  refused,
  timedOut,
} from './classes.ts';
import {
  contentEvents,
  messageDelta,
  messageStart,
  messageStop,
  messagesEvent,
  messagesEvents,
  messagesStream,
  openingEvents,
  relayedMessages,
} from './messages-kind.ts';
import {
  ends,
  reads,
  type Script,
  type Step,
  saysBytewise,
  sends,
  stalls,
  waitsFor,
} from './raw-upstream.ts';
import { framed } from './requests.ts';
import { head } from './responses.ts';
import {
  type CallerReply,
  type Circumstances,
  type ExpectedOfKinds,
  type FaultRow,
  isFull,
  oneMount,
} from './row.ts';

const stream: Pick<FaultRow, 'kinds' | 'mounts'> = { ...everywhere, kinds: ['messages_stream'] };

const open = head(200, { 'content-type': 'text/event-stream' });
const opening = openingEvents.join('');
const withContent = `${opening}${contentEvents.join('')}`;
const whole = messagesEvents.join('');

/** One failure by its type, and what comes of it before any content and after it. */
interface Failure {
  readonly type: string;
  readonly early: ExpectedOfKinds;
  readonly late: CallerReply;
  readonly circumstances?: Circumstances;
}

const out: ExpectedOfKinds = { ...notRun, reason: 'upstream_auth_error', health: 'refused' };

const failures: readonly Failure[] = [
  { type: 'api_error', early: { ...mayHaveRun, reason: 'upstream_error' }, late: 'broken' },
  { type: 'made_up_error', early: { ...mayHaveRun, reason: 'upstream_error' }, late: 'broken' },
  {
    type: 'overloaded_error',
    early: {
      ...mayHaveRun,
      callerGets: 'no_channel',
      status: 529,
      retryAfter: 10,
      reason: 'upstream_overloaded',
      health: 'cooling_down',
    },
    late: 'broken: no_channel',
  },
  {
    type: 'rate_limit_error',
    early: {
      ...notRun,
      callerGets: 'upstream_rate_limited',
      retryAfter: 10,
      reason: 'upstream_rate_limited',
      health: 'cooling_down',
    },
    late: 'broken: upstream_rate_limited',
  },
  { type: 'timeout_error', early: timedOut, late: 'broken: upstream_timeout' },
  { type: 'authentication_error', early: out, late: 'broken' },
  {
    type: 'billing_error',
    early: { ...notRun, reason: 'upstream_unpaid', health: 'cooling_down' },
    late: 'broken',
  },
  {
    type: 'invalid_request_error',
    early: refused,
    late: 'broken: invalid_request',
    circumstances: { forwardsMessage: true },
  },
];

type ErrorMembers = Readonly<Record<'type' | 'message', string>>;

/** The events with which a stream may state an error. */
const forms: readonly (readonly [form: string, events: (error: ErrorMembers) => string])[] = [
  ['an error', (error) => messagesEvent('error', { error })],
  ['an error without a name', (error) => framed({ type: 'error', error })],
  ['the error of a proxy', (error) => framed({ error })],
  // What follows an error must not make a reply of it.
  [
    'an error and the end of the reply',
    (error) => `${messagesEvent('error', { error })}${messageDelta()}${messageStop}`,
  ],
];

const early = ({ type, early, circumstances = {} }: Failure): readonly FaultRow[] =>
  forms.map(([form, events], at) => ({
    id: 'F31',
    fault: `${form} before any content: ${type}`,
    ...stream,
    upstream: (_kind, leak) => [
      reads,
      sends(`${open}${opening}${events({ type, message: leak })}`),
      ends,
    ],
    channelSetups: at === 0 || isFull ? ['single', 'with_second', 'repeated'] : ['single'],
    expected: early,
    circumstances,
  }));

const late = ({ type, early, late, circumstances = {} }: Failure): readonly FaultRow[] =>
  forms.map(([form, events]) => ({
    id: 'F47',
    fault: `${form} after content: ${type}`,
    ...stream,
    upstream: (_kind, leak, begun): Script => [
      reads,
      sends(`${open}${withContent}`),
      waitsFor(begun),
      sends(events({ type, message: leak })),
      ends,
    ],
    // The signal that the caller has received something is given only once.
    channelSetups: isFull ? ['single', 'with_second'] : ['single'],
    expected: { ...brokenStream, callerGets: late, reason: early.reason, health: early.health },
    circumstances,
  }));

/** A stream that ends without its last event, whatever it has said before. */
const endedAfter = (count: number): FaultRow => ({
  id: 'F46',
  fault: `no last event after ${count} others`,
  ...stream,
  upstream: () => [reads, sends(`${open}${messagesEvents.slice(0, count).join('')}`), ends],
  expected:
    count > openingEvents.length
      ? { ...brokenStream, charge: count === messagesEvents.length - 1 ? 'usage' : 'observed' }
      : { ...halfDone, reason: 'upstream_stream_truncated' },
});

/** A stream that succeeds: its caller gets `text` of what the upstream has sent. */
const ended = (
  id: string,
  fault: string,
  text: string,
  { charge = 'usage', sent = text }: { readonly charge?: 'usage' | 'observed'; sent?: string } = {},
): FaultRow => ({
  id,
  fault,
  ...stream,
  upstream: () => [reads, sends(`${open}${sent}`), ends],
  circumstances: { expectedBody: () => relayedMessages(text) },
  expected: { ...fine, charge },
});

/** The events with their names, framed in these ways. */
const framings: readonly (readonly [string, string])[] = [
  ['CRLF', whole.replaceAll('\n', '\r\n')],
  ['CR', whole.replaceAll('\n', '\r')],
  ['no spaces', whole.replaceAll(/^(event|data): /gm, '$1:')],
  ['the names behind the data', whole.replaceAll(/(event: \w+\n)(data: .+\n)/g, '$2$1')],
  ['comments', whole.replaceAll('event: ', ': ping\nevent: ')],
  ['ids', whole.replaceAll('event: ', 'id: 1\nevent: ')],
  ['the name of another event', whole.replaceAll(/event: \w+/g, 'event: message')],
];

const writes: readonly (readonly [string, (text: string) => Step])[] = [
  ['at once', (text) => sends(text)],
  ['byte by byte', saysBytewise],
];

const rowsFraming: readonly FaultRow[] = framings.flatMap(([name, text]) =>
  writes.map(([way, step]) => ({
    id: 'F42',
    fault: `named events framed by ${name}, ${way}`,
    ...stream,
    mounts: oneMount,
    channelSetups: ['single'] as const,
    upstream: () => [reads, sends(open), step(text), ends],
    circumstances: { expectedBody: () => relayedMessages(text) },
    expected: fine,
  })),
);

/** Anthropic's own sign of life, until the connection closes. It is no content. */
const pings: Step = async ({ socket, stalled }) => {
  stalled();
  while (socket.writable) {
    socket.write(messagesEvent('ping'));
    await setImmediate();
  }
};

const silent = (
  fault: string,
  before: string,
  expected: Partial<ExpectedOfKinds> = {},
): FaultRow => ({
  id: 'F49',
  fault,
  ...stream,
  upstream: () => [reads, sends(`${open}${before}`), pings],
  channelSetups: isFull ? ['single', 'with_second'] : ['single'],
  circumstances: { advances: { afterStallIn: 'body', ms: 310_000 } },
  expected: {
    ...brokenStream,
    callerGets: 'broken: upstream_timeout',
    reason: 'silent_stream',
    health: 'timed_out',
    ...expected,
  },
});

const stated = (fault: string, first: unknown, last: unknown): FaultRow =>
  ended('F50', fault, messagesStream(first, last).join(''), { charge: 'observed' });

/** A prompt is never empty, so these are no figures. */
const zerosAtTheEnd: readonly object[] = [
  { input_tokens: 0 },
  { input_tokens: 0, cache_read_input_tokens: 0, cache_creation_input_tokens: 0 },
];

/** The rows. */
export const rowsMessages: readonly FaultRow[] = [
  ...failures.flatMap((failure) => [...early(failure), ...late(failure)]),
  ...rowsFraming,
  ...messagesEvents.slice(1).map((_, at) => endedAfter(at + 1)),
  ended('F45', 'events after the last one', whole, {
    sent: `${whole}${contentEvents.join('')}data: [DONE]\n\n`,
  }),
  ended('F45', 'a stop without content', `${messageStart()}${messageDelta()}${messageStop}`),
  ended(
    'F45',
    'an event of a type that nobody knows',
    `${opening}${messagesEvent('novelty')}${whole.slice(opening.length)}`,
  ),
  {
    id: 'F45',
    fault: 'nothing after the last event, and no end: the connection is closed',
    ...stream,
    upstream: () => [reads, sends(`${open}${whole}`), stalls],
    // The upstream has a second of real time to end by itself.
    channelSetups: isFull ? ['single', 'with_second'] : ['single'],
    circumstances: { closesConnection: true },
    expected: fine,
  },
  silent('pings after the first events', opening, { charge: 'nothing', outcome: 'unknown' }),
  silent('pings after content', withContent),
  stated('no figures of a message', null, null),
  stated('figures at the start only', { input_tokens: 10, output_tokens: 1 }, null),
  stated('figures of a message that are no numbers', null, {
    input_tokens: 'ten',
    output_tokens: null,
  }),
  stated('negative figures of a message', null, { input_tokens: -10, output_tokens: -5 }),
  ...zerosAtTheEnd.map((last) =>
    ended(
      'F50',
      `an end that repeats the input as zeros: ${JSON.stringify(last)}`,
      messagesStream(undefined, { ...last, output_tokens: 5 }).join(''),
    ),
  ),
];
