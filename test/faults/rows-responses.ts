/**
 * F31, F32, F45–F47, F50 as the Responses API has them: failures in whole replies and in every form
 * that an event can give them, streams without their last event, and the last events themselves.
 */
import {
  brokenStream,
  everywhere,
  fine,
  halfDone,
  mayHaveRun,
  notRun,
  refused,
} from './classes.ts';
import { ends, reads, type Script, sends, stalls, waitsFor } from './raw-upstream.ts';
import { framed } from './requests.ts';
import { answer, head } from './responses.ts';
import {
  contentEvents,
  lastEvent,
  openingEvents,
  relayedResponses,
  responseOf,
  responsesEvent,
  responsesEvents,
} from './responses-kind.ts';
import {
  type CallerReply,
  type Circumstances,
  type ExpectedOfKinds,
  type FaultRow,
  isFull,
} from './row.ts';

const whole: Pick<FaultRow, 'kinds' | 'mounts'> = { ...everywhere, kinds: ['responses'] };
const stream: Pick<FaultRow, 'kinds' | 'mounts'> = { ...everywhere, kinds: ['responses_stream'] };

const open = head(200, { 'content-type': 'text/event-stream' });
const opening = openingEvents.join('');
const withContent = `${opening}${contentEvents.join('')}`;
const completed = lastEvent('completed');

/** One failure by its code, and what comes of it before any content and after it. */
interface Failure {
  readonly code: string;
  readonly type: string;
  readonly early: ExpectedOfKinds;
  readonly late: CallerReply;
  readonly circumstances?: Circumstances;
}

const limited = (retryAfter: number): ExpectedOfKinds => ({
  ...notRun,
  callerGets: 'upstream_rate_limited',
  reason: 'upstream_rate_limited',
  retryAfter,
  health: 'cooling_down',
});

const failures: readonly Failure[] = [
  {
    code: 'server_error',
    type: 'server_error',
    early: { ...mayHaveRun, reason: 'upstream_error' },
    late: 'broken',
  },
  {
    code: 'rate_limit_exceeded',
    type: 'rate_limit_error',
    early: limited(10),
    late: 'broken: upstream_rate_limited',
  },
  {
    code: 'insufficient_quota',
    type: 'insufficient_quota',
    early: limited(3_600),
    late: 'broken: upstream_rate_limited',
  },
  {
    code: 'context_length_exceeded',
    type: 'invalid_request_error',
    early: { ...refused, keptCode: 'context_length_exceeded' },
    late: 'broken: invalid_request',
    circumstances: { forwardsMessage: true },
  },
  {
    code: 'invalid_api_key',
    type: 'invalid_request_error',
    early: { ...notRun, reason: 'upstream_auth_error', health: 'refused' },
    late: 'broken',
  },
];

/** A response that failed with this error. */
const failed = (error: object): object => responseOf('failed', { error });

type ErrorMembers = Readonly<Record<'type' | 'code' | 'message', string>>;

/** The events with which a stream may state an error. */
const forms: readonly (readonly [form: string, events: (error: ErrorMembers) => string])[] = [
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

const early = (failure: Failure): readonly FaultRow[] => [
  {
    id: 'F31',
    fault: `a 200 with a response that failed: ${failure.code}`,
    ...whole,
    upstream: (_kind, leak) => [
      reads,
      sends(
        answer(200, JSON.stringify(failed({ code: failure.code, message: leak })), {
          'content-type': 'application/json',
        }),
      ),
    ],
    expected: failure.early,
    circumstances: failure.circumstances ?? {},
  },
  ...forms.map(([form, events], at): FaultRow => {
    const { code, type } = failure;
    return {
      id: 'F31',
      fault: `${form} before any content: ${code}`,
      ...stream,
      upstream: (_kind, leak) => [
        reads,
        sends(`${open}${opening}${events({ type, code, message: leak })}`),
        ends,
      ],
      channelSetups: at === 0 || isFull ? ['single', 'with_second', 'repeated'] : ['single'],
      expected: failure.early,
      circumstances: failure.circumstances ?? {},
    };
  }),
];

const late = ({ code, type, early, late, circumstances = {} }: Failure): readonly FaultRow[] =>
  forms.map(([form, events]) => ({
    id: 'F47',
    fault: `${form} after content: ${code}`,
    ...stream,
    upstream: (_kind, leak, begun): Script => [
      reads,
      sends(`${open}${withContent}`),
      waitsFor(begun),
      sends(events({ type, code, message: leak })),
      ends,
    ],
    // The signal that the caller has received something is given only once.
    channelSetups: isFull ? ['single', 'with_second'] : ['single'],
    expected: {
      ...brokenStream,
      callerGets: late,
      keptCode: early.keptCode,
      reason: early.reason,
      health: early.health,
    },
    circumstances,
  }));

/** A stream that ends without its last event. */
const endedAfter = (count: number): FaultRow => ({
  id: 'F46',
  fault: `no last event after ${count} others`,
  ...stream,
  upstream: () => [reads, sends(`${open}${responsesEvents.slice(0, count).join('')}`), ends],
  expected:
    count > openingEvents.length
      ? brokenStream
      : { ...halfDone, reason: 'upstream_stream_truncated' },
});

/** A stream that succeeds with this text. */
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
  circumstances: { expectedBody: () => relayedResponses(text) },
  expected: { ...fine, charge },
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
  // The upstream goes on with it, and nobody knows its cost yet.
  expected: {
    ...halfDone,
    charge: 'pending',
    outcome: 'unknown',
    reason: 'upstream_still_running',
  },
});

/** The rows. */
export const rowsResponses: readonly FaultRow[] = [
  ...failures.flatMap((failure) => [...early(failure), ...late(failure)]),
  running('queued'),
  running('in_progress'),
  ...responsesEvents.slice(1).map((_, at) => endedAfter(at + 1)),
  ended('F45', 'events after the last one', `${withContent}${completed}`, {
    sent: `${withContent}${completed}${contentEvents.join('')}data: [DONE]\n\n`,
  }),
  ended('F45', 'the last event alone', completed),
  ended('F45', 'an incomplete response', `${withContent}${lastEvent('incomplete', cutShort)}`),
  {
    id: 'F45',
    fault: 'nothing after the last event, and no end: the connection is closed',
    ...stream,
    upstream: () => [reads, sends(`${open}${withContent}${completed}`), stalls],
    // The upstream has a second of real time to end by itself.
    channelSetups: isFull ? ['single', 'with_second'] : ['single'],
    circumstances: { closesConnection: true },
    expected: fine,
  },
  figures('no figures of a response', null),
  figures('figures of a response that are no numbers', {
    input_tokens: 'ten',
    output_tokens: null,
  }),
  figures('negative figures of a response', { input_tokens: -10, output_tokens: -5 }),
];
