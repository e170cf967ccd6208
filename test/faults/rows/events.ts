/**
 * The rows that all APIs with named events have: failures in every form that an event can give
 * them, streams without their last event, and streams that succeed.
 */
import { brokenStream, everywhere, fine, halfDone } from '../classes.ts';
import { ends, reads, type Script, sends, stalls, waitsFor } from '../raw-upstream.ts';
import { head } from '../responses.ts';
import {
  type CallerReply,
  type Circumstances,
  type ExpectedOfKinds,
  type FaultRow,
  isFull,
} from './row.ts';

/** The head of a stream's response. */
export const open: string = head(200, { 'content-type': 'text/event-stream' });

/** One failure, and what comes of it before any content and after it. */
export interface Failure<Stated> {
  /** As the title of its rows has it. */
  readonly name: string;
  /** The members of the error besides its message. */
  readonly stated: Stated;
  readonly early: ExpectedOfKinds;
  readonly late: CallerReply;
  readonly circumstances?: Circumstances;
}

/** How an event states an error. */
export type ErrorForm<Stated> = readonly [
  form: string,
  events: (error: Stated & { readonly message: string }) => string,
];

/** One API whose streams have named events. */
interface EventApi<Stated> {
  readonly kinds: FaultRow['kinds'];
  readonly forms: readonly ErrorForm<Stated>[];
  /** The events before any content, and those with it. */
  readonly opening: readonly string[];
  readonly content: readonly string[];
  /** A whole stream. */
  readonly events: readonly string[];
  /** What the caller gets of a relayed stream. */
  relayed(text: string): string;
}

/** A stream that succeeds: its caller gets the text of it, of what the upstream has sent. */
type Ended = (
  id: string,
  fault: string,
  text: string,
  differs?: { readonly charge?: 'usage' | 'observed'; readonly sent?: string },
) => FaultRow;

/** The rows of one API. */
export interface EventRows<Stated> {
  readonly stream: Pick<FaultRow, 'kinds' | 'mounts'>;
  early(failure: Failure<Stated>): readonly FaultRow[];
  late(failure: Failure<Stated>): readonly FaultRow[];
  /** A stream that ends without its last event, after each number of others. */
  endedEarly(expected: (count: number) => ExpectedOfKinds): readonly FaultRow[];
  readonly ended: Ended;
  /** A connection that stays open after this text. */
  stalled(text: string): FaultRow;
}

/** The rows of an API. */
export function eventRows<Stated extends object>(api: EventApi<Stated>): EventRows<Stated> {
  const stream = { ...everywhere, kinds: api.kinds };
  const openings = api.opening.length;
  const opening = api.opening.join('');
  const withContent = `${opening}${api.content.join('')}`;
  return {
    stream,
    early: ({ name, stated, early, circumstances = {} }) =>
      api.forms.map(([form, events], at) => ({
        id: 'F31',
        fault: `${form} before any content: ${name}`,
        ...stream,
        upstream: (_kind, leak) => [
          reads,
          sends(`${open}${opening}${events({ ...stated, message: leak })}`),
          ends,
        ],
        channelSetups: at === 0 || isFull ? ['single', 'with_second', 'repeated'] : ['single'],
        expected: early,
        circumstances,
      })),
    late: ({ name, stated, early, late, circumstances = {} }) =>
      api.forms.map(([form, events]) => ({
        id: 'F47',
        fault: `${form} after content: ${name}`,
        ...stream,
        upstream: (_kind, leak, begun): Script => [
          reads,
          sends(`${open}${withContent}`),
          waitsFor(begun),
          sends(events({ ...stated, message: leak })),
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
      })),
    endedEarly: (expected) =>
      api.events.slice(1).map((_, at) => ({
        id: 'F46',
        fault: `no last event after ${at + 1} others`,
        ...stream,
        upstream: () => [reads, sends(`${open}${api.events.slice(0, at + 1).join('')}`), ends],
        expected:
          at + 1 > openings
            ? expected(at + 1)
            : { ...halfDone, reason: 'upstream_stream_truncated' },
      })),
    ended: (id, fault, text, { charge = 'usage', sent = text } = {}) => ({
      id,
      fault,
      ...stream,
      upstream: () => [reads, sends(`${open}${sent}`), ends],
      circumstances: { expectedBody: () => api.relayed(text) },
      expected: { ...fine, charge },
    }),
    stalled: (text) => ({
      id: 'F45',
      fault: 'nothing after the last event, and no end: the connection is closed',
      ...stream,
      upstream: () => [reads, sends(`${open}${text}`), stalls],
      // The upstream has a second of real time to end by itself.
      channelSetups: isFull ? ['single', 'with_second'] : ['single'],
      circumstances: { closesConnection: true },
      expected: fine,
    }),
  };
}
