/**
 * F31, F42, F45–F47, F49, F50 as the Messages API has them: failures by their types in every form
 * that an event can give them, named events, streams without their last event, and their usage.
 */

import { setImmediate } from 'node:timers/promises';
import { brokenStream, fine, mayHaveRun, notRun, refused, timedOut } from '../classes.ts';
import { framed } from '../kinds.ts';
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
} from '../messages-kind.ts';
import { ends, reads, type Step, saysBytewise, sends } from '../raw-upstream.ts';
import { type ErrorForm, eventRows, type Failure, open } from './events.ts';
import { type ExpectedOfKinds, type FaultRow, isFull, oneMount } from './row.ts';

const opening = openingEvents.join('');
const withContent = `${opening}${contentEvents.join('')}`;
const whole = messagesEvents.join('');

const out: ExpectedOfKinds = {
  ...notRun,
  reason: 'upstream_auth_error',
  health: 'refused',
  lasts: true,
};

type Stated = { readonly type: string };

function named(type: string): Pick<Failure<Stated>, 'name' | 'stated'> {
  return { name: type, stated: { type } };
}

const failures: readonly Failure<Stated>[] = [
  { ...named('api_error'), early: { ...mayHaveRun, reason: 'upstream_error' }, late: 'broken' },
  { ...named('made_up_error'), early: { ...mayHaveRun, reason: 'upstream_error' }, late: 'broken' },
  {
    ...named('overloaded_error'),
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
    ...named('rate_limit_error'),
    early: {
      ...notRun,
      callerGets: 'upstream_rate_limited',
      retryAfter: 10,
      reason: 'upstream_rate_limited',
      health: 'cooling_down',
    },
    late: 'broken: upstream_rate_limited',
  },
  { ...named('timeout_error'), early: timedOut, late: 'broken: upstream_timeout' },
  { ...named('authentication_error'), early: out, late: 'broken' },
  {
    ...named('billing_error'),
    early: { ...notRun, reason: 'upstream_unpaid', health: 'cooling_down', lasts: true },
    late: 'broken',
  },
  {
    ...named('invalid_request_error'),
    early: refused,
    late: 'broken: invalid_request',
    circumstances: { forwardsMessage: true },
  },
];

/** The events with which a stream may state an error. */
const forms: readonly ErrorForm<Stated>[] = [
  ['an error', (error) => messagesEvent('error', { error })],
  ['an error without a name', (error) => framed({ type: 'error', error })],
  ['the error of a proxy', (error) => framed({ error })],
  // What follows an error must not turn it into a reply.
  [
    'an error and the end of the reply',
    (error) => `${messagesEvent('error', { error })}${messageDelta()}${messageStop}`,
  ],
];

const { stream, early, late, endedEarly, ended, stalled } = eventRows({
  kinds: ['messages_stream'],
  forms,
  opening: openingEvents,
  content: contentEvents,
  events: messagesEvents,
  relayed: relayedMessages,
});

const withoutEnd = endedEarly((count) => ({
  ...brokenStream,
  charge: count === messagesEvents.length - 1 ? 'usage' : 'observed',
}));

/** The events with their names, framed in these ways. */
const framings: readonly (readonly [string, string])[] = [
  ['CRLF', whole.replaceAll('\n', '\r\n')],
  ['CR', whole.replaceAll('\n', '\r')],
  ['no spaces', whole.replaceAll(/^(event|data): /gm, '$1:')],
  ['the names after the data', whole.replaceAll(/(event: \w+\n)(data: .+\n)/g, '$2$1')],
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

/** Anthropic's ping events until the connection closes. They are not content. */
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

/** A prompt is never empty, so these counts are not valid. */
const zerosAtTheEnd: readonly object[] = [
  { input_tokens: 0 },
  { input_tokens: 0, cache_read_input_tokens: 0, cache_creation_input_tokens: 0 },
];

/** The rows. */
export const rowsMessages: readonly FaultRow[] = [
  ...failures.flatMap((failure) => [...early(failure), ...late(failure)]),
  ...rowsFraming,
  ...withoutEnd,
  ended('F45', 'events after the last one', whole, {
    sent: `${whole}${contentEvents.join('')}data: [DONE]\n\n`,
  }),
  ended('F45', 'a stop without content', `${messageStart()}${messageDelta()}${messageStop}`),
  ended(
    'F45',
    'an event of a type that nobody knows',
    `${opening}${messagesEvent('novelty')}${whole.slice(opening.length)}`,
  ),
  stalled(whole),
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
