/** The form of a row about callers (F51–F62): the caller’s script and the expected results. */

import type { CallOutcome } from '../../../src/ports/usage-sink.ts';
import type { Kind } from '../kinds.ts';
import type { Charged } from '../rows/row.ts';

/** One action of a caller, or an event that the test waits for or causes. */
export type CallerStep =
  /** Opens another connection; the previous one stays as it is. */
  | 'connects'
  | 'sends it all'
  | 'sends it byte by byte'
  | 'sends the head, expecting 100'
  | 'sends half of the body'
  | 'sends the rest of the body'
  /** With a second request, for an unknown model, in the same write. */
  | 'sends two at once'
  | 'stops reading'
  | 'sends FIN'
  | 'closes'
  | 'resets'
  /** The first event of a stream has arrived, the second has not. */
  | 'sees the first event alone'
  | 'sees 100 Continue'
  | 'sees an answer'
  | 'sees both answers'
  /** The host's adapter has noticed that the caller disconnected. */
  | 'is noticed as gone'
  | 'is being authenticated'
  | 'is authenticated'
  | 'is reserving'
  | 'has reserved'
  | 'is at the upstream'
  | 'the upstream continues'
  | 'the second is answered first'
  /** The gateway's clock advances, second by second, beyond `callerStallMs`. */
  | 'time for a stalled caller passes';

/** How the upstream handles the first call; it answers the following ones. */
export type UpstreamPlay = 'answers' | 'waits' | 'halts mid-stream' | 'floods';

/** The expected results of a row, for one kind of call. */
export interface CallerExpected {
  /** The status of every whole answer that the caller got, in order. */
  readonly statuses: readonly number[];
  /** One entry for each usage record; none if nothing was reserved. */
  readonly records: readonly {
    readonly status: number;
    readonly outcome: CallOutcome;
    readonly charge: Charged;
  }[];
  /** How often quota was reserved. */
  readonly reserves: number;
  /** How the connection of each call to the upstream ended. */
  readonly upstream: readonly ('ended' | 'aborted')[];
}

/** One row. */
export interface CallerRow {
  /** The number of the fault; rows about the same fault share it. */
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
