/** What a row about callers (F51–F62) says: the caller’s script, and all that must come of it. */
import type { CallOutcome } from '../../src/ports/usage-sink.ts';
import type { Charged, Kind } from './row.ts';

/** One thing that a caller does, or that the test waits for, or lets happen. */
export type CallerStep =
  /** Connects; the connection before is left as it is. */
  | 'connects'
  | 'sends it all'
  | 'sends it byte by byte'
  | 'sends the head, expecting 100'
  | 'sends half of the body'
  | 'sends the rest of the body'
  /** And behind it, in the same write, one for a model there is not. */
  | 'sends two at once'
  | 'stops reading'
  | 'sends FIN'
  | 'closes'
  | 'resets'
  /** The first event of a stream is here, the second is not. */
  | 'sees the first event alone'
  | 'sees 100 Continue'
  | 'sees an answer'
  | 'sees both answers'
  /** The host's adapter knows that the caller has gone. */
  | 'is missed'
  | 'is being authenticated'
  | 'is authenticated'
  | 'is reserving'
  | 'has reserved'
  | 'is at the upstream'
  | 'the upstream goes on'
  | 'the second is answered first'
  /** The gateway's clock goes on, second by second, for as long as a caller may stall. */
  | 'time for a stalled caller passes';

/** What the upstream does with the first call; the next ones it answers. */
export type UpstreamPlay = 'answers' | 'waits' | 'halts mid-stream' | 'floods';

/** All that must come of a row, for one kind of call. */
export interface CallerExpected {
  /** Of every whole answer that the caller got, in order. */
  readonly statuses: readonly number[];
  /** Of the records, one each; none where nothing was reserved. */
  readonly records: readonly {
    readonly status: number;
    readonly outcome: CallOutcome;
    readonly charge: Charged;
  }[];
  /** How often quota was reserved. */
  readonly reserves: number;
  /** How each call to the upstream closed. */
  readonly upstream: readonly ('ended' | 'aborted')[];
}

/** One row. */
export interface CallerRow {
  /** As in FAULTS.md. */
  readonly id: string;
  /** One sentence. */
  readonly fault: string;
  readonly kinds: readonly Kind[];
  /** By the names in `test/adapters/mounts.ts`. */
  readonly mounts: readonly string[];
  readonly upstream: UpstreamPlay;
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly steps: readonly CallerStep[];
  readonly expected: CallerExpected;
}
