/**
 * F31, F32, F45–F47, F50 as the Responses API has them: failures in whole replies and in every form
 * that an event can give them, streams without their last event, and the last events themselves.
 */

import { brokenStream, everywhere, halfDone, mayHaveRun, notRun, refused } from '../classes.ts';
import { framed } from '../kinds.ts';
import { reads, sends } from '../raw-upstream.ts';
import { answer } from '../responses.ts';
import {
  contentEvents,
  lastEvent,
  openingEvents,
  relayedResponses,
  responseOf,
  responsesEvent,
  responsesEvents,
} from '../responses-kind.ts';
import { type ErrorForm, eventRows, type Failure } from './events.ts';
import type { ExpectedOfKinds, FaultRow } from './row.ts';

const whole: Pick<FaultRow, 'kinds' | 'mounts'> = { ...everywhere, kinds: ['responses'] };
const opening = openingEvents.join('');
const withContent = `${opening}${contentEvents.join('')}`;
const completed = lastEvent('completed');

const limited = (retryAfter: number): ExpectedOfKinds => ({
  ...notRun,
  callerGets: 'upstream_rate_limited',
  reason: 'upstream_rate_limited',
  retryAfter,
  health: 'cooling_down',
});

type Stated = Readonly<Record<'type' | 'code', string>>;

function named(code: string, type: string): Pick<Failure<Stated>, 'name' | 'stated'> {
  return { name: code, stated: { type, code } };
}

const failures: readonly Failure<Stated>[] = [
  {
    ...named('server_error', 'server_error'),
    early: { ...mayHaveRun, reason: 'upstream_error' },
    late: 'broken',
  },
  {
    ...named('rate_limit_exceeded', 'rate_limit_error'),
    early: limited(10),
    late: 'broken: upstream_rate_limited',
  },
  {
    ...named('insufficient_quota', 'insufficient_quota'),
    early: limited(3_600),
    late: 'broken: upstream_rate_limited',
  },
  {
    ...named('context_length_exceeded', 'invalid_request_error'),
    early: { ...refused, keptCode: 'context_length_exceeded' },
    late: 'broken: invalid_request',
    circumstances: { forwardsMessage: true },
  },
  {
    ...named('invalid_api_key', 'invalid_request_error'),
    early: { ...notRun, reason: 'upstream_auth_error', health: 'refused', lasts: true },
    late: 'broken',
  },
];

/** A response that failed with this error. */
const failed = (error: object): object => responseOf('failed', { error });

/** The events with which a stream may state an error. */
const forms: readonly ErrorForm<Stated>[] = [
  ['a nested error', (error) => responsesEvent('error', 6, { error })],
  ['a flat error', ({ code, message }) => responsesEvent('error', 6, { code, message })],
  [
    'a failed response',
    (error) => responsesEvent('response.failed', 6, { response: failed(error) }),
  ],
  [
    'an error and a failed response',
    (error) =>
      responsesEvent('error', 6, { error }) +
      responsesEvent('response.failed', 7, { response: failed(error) }),
  ],
  ['the error of a chat', (error) => framed({ error })],
];

const { early, late, endedEarly, ended, stalled } = eventRows({
  kinds: ['responses_stream'],
  forms,
  opening: openingEvents,
  content: contentEvents,
  events: responsesEvents,
  relayed: relayedResponses,
});

/** The same failure in a whole reply. */
const inWhole = ({ name, stated, early, circumstances = {} }: Failure<Stated>): FaultRow => ({
  id: 'F31',
  fault: `a 200 with a response that failed: ${name}`,
  ...whole,
  upstream: (_kind, leak) => [
    reads,
    sends(
      answer(200, JSON.stringify(failed({ code: stated.code, message: leak })), {
        'content-type': 'application/json',
      }),
    ),
  ],
  expected: early,
  circumstances,
});

const cutShort = { incomplete_details: { reason: 'max_output_tokens' } };

const figures = (fault: string, usage: unknown): FaultRow =>
  ended('F50', fault, `${withContent}${lastEvent('completed', { usage })}`, { charge: 'observed' });

/** A reply whose status says that it still runs, as those of background calls do. */
const running = (status: string): FaultRow => ({
  id: 'F32',
  fault: `a response that is ${status} to a call that waits for it`,
  ...whole,
  upstream: () => [
    reads,
    sends(answer(200, JSON.stringify(responseOf(status)), { 'content-type': 'application/json' })),
  ],
  // The upstream continues it, and its cost is not known yet.
  expected: {
    ...halfDone,
    charge: 'pending',
    outcome: 'unknown',
    reason: 'upstream_still_running',
  },
});

/** The rows. */
export const rowsResponses: readonly FaultRow[] = [
  ...failures.flatMap((failure) => [inWhole(failure), ...early(failure), ...late(failure)]),
  running('queued'),
  running('in_progress'),
  ...endedEarly(() => brokenStream),
  ended('F45', 'events after the last one', `${withContent}${completed}`, {
    sent: `${withContent}${completed}${contentEvents.join('')}data: [DONE]\n\n`,
  }),
  ended('F45', 'the last event alone', completed),
  ended('F45', 'an incomplete response', `${withContent}${lastEvent('incomplete', cutShort)}`),
  stalled(`${withContent}${completed}`),
  figures('no figures of a response', null),
  figures('figures of a response that are no numbers', {
    input_tokens: 'ten',
    output_tokens: null,
  }),
  figures('negative figures of a response', { input_tokens: -10, output_tokens: -5 }),
];
