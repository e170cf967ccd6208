/**
 * What a row of the fault matrix says: one fault, the script that plays it, and all that must come
 * of it. Read it with FAULTS.md §3 beside it; where ARCHITECTURE says otherwise, that holds.
 */
import type { ErrorCode } from '../../src/errors.ts';
import type { CallOutcome } from '../../src/ports/usage-sink.ts';
import type { Script } from './raw-upstream.ts';

/** A way of asking. The native stream is the one of server-sent events. */
export type Kind = 'chat' | 'chat_stream' | 'image' | 'native' | 'native_stream';

/** Every way of asking. */
export const kinds: readonly Kind[] = ['chat', 'chat_stream', 'image', 'native', 'native_stream'];

/** What is answered in one piece. */
export const wholeKinds: readonly Kind[] = ['chat', 'image', 'native'];

/** What is answered in events. */
export const streamKinds: readonly Kind[] = ['chat_stream', 'native_stream'];

/** The mounts of the matrix, by their names in `test/adapters/mounts.ts`. */
export type MountName =
  | 'node:http'
  | 'Express 4 at the root'
  | 'Express 5 at the root'
  | 'Koa 3 at the root';

/** All four. */
export const allMounts: readonly MountName[] = [
  'node:http',
  'Express 4 at the root',
  'Express 5 at the root',
  'Koa 3 at the root',
];

/**
 * On every Node version but one the matrix is thin: one mount, and a tenth of the offsets that a
 * reply is cut at. `TEST_FORM=full` plays each row on all of its mounts.
 */
export const isThin: boolean = process.env.TEST_FORM === 'thin';
/** See {@link isThin}. */
export const isFull: boolean = process.env.TEST_FORM === 'full';

/** For rows with hundreds of cuts: what happens before an adapter is the same in front of each. */
export const oneMount: readonly MountName[] = ['node:http'];

/**
 * What the caller gets: `reply`, the whole of it; a code of `errors.ts`, as status and words of its
 * dialect; `broken`, a 200 whose stream ends with that dialect's error, `upstream_failed` where
 * none is named; `cut`, a 200 whose connection breaks off.
 */
export type Told = 'reply' | 'cut' | 'broken' | `broken: ${ErrorCode}` | ErrorCode;

/**
 * `nothing`: 0, and the hold is back. `usage`: the upstream's figures. `observed`: more than 0,
 * from what came. `pending`: an image that may have been made keeps its hold.
 */
export type Charged = 'nothing' | 'usage' | 'observed' | 'pending';

/**
 * What the channel's health has of it (FAULTS §4.5). `none`: not its fault. `counted`: one of the
 * failures that eject. `rests`: cools down at once. `out`: gone until somebody mends it.
 */
export type Health = 'none' | 'counted' | 'timed_out' | 'rests' | 'out';

/** All that must come of a fault, for one kind of call. */
export interface Expected {
  /** What the caller gets where this is the only channel. */
  readonly told: Told;
  /** Seconds, where an answer must name a wait; none may where left out. */
  readonly retryAfter?: number | undefined;
  /** The same call fails until the host has changed something: SDKs must not repeat it. */
  readonly lasts?: boolean;
  readonly charge: Charged;
  readonly outcome: CallOutcome;
  /** The finer name in the event and the record; undefined where nothing went wrong. */
  readonly reason: string | undefined;
  /** How often this upstream is called. A connection that says nothing counts too. */
  readonly calls: number;
  /**
   * With a healthy channel beside: `second`, that one answers, and is called once. `same`: the
   * caller gets what it got alone, and the other is never called.
   */
  readonly beside: 'second' | 'same';
  readonly health: Health;
}

/** What is expected of all kinds, and where one differs. */
export interface ExpectedOfKinds extends Expected {
  readonly image?: Partial<Expected>;
  /** Of both kinds of streams. */
  readonly streams?: Partial<Expected>;
  readonly native?: Partial<Expected>;
  readonly nativeStream?: Partial<Expected>;
}

/** Addresses that a channel may have, each `http://127.0.0.1:49152`. */
export interface Places {
  /** Where the script is played. */
  readonly script: string;
  /** Takes no connection and refuses none. */
  readonly blackhole: string;
}

/**
 * Whether there is a healthy channel of lower priority too. `again`: there is, and the fault comes
 * five times in a row, after which what counts has ejected the channel and nothing else has.
 */
export type Company = 'alone' | 'beside' | 'again';

/** How a call is made where it is no plain one. */
export interface Circumstances {
  /** Where the channel is, if not at the script's own address. */
  readonly at?: (places: Places) => string;
  /** The script speaks TLS, with this certificate of `test/faults/certificates`. */
  readonly certificate?: string;
  /**
   * Goes by as soon as the script stalls, in ms: until the head for `head`, after it for `body`.
   */
  readonly passes?: { readonly afterStallIn: 'head' | 'body'; readonly ms: number };
  /** The prompt is as long as this. */
  readonly promptBytes?: number;
  /** Calls made before, one after the other, each of which must be answered with a 200. */
  readonly callsBefore?: number;
  /** The caller is told the upstream's own words, through the redactor (ARCHITECTURE T). */
  readonly tellsWords?: boolean;
  /** The whole of what the caller must read, where the reply is not the usual one. */
  readonly reads?: (kind: Kind) => string;
  /** How long the fault rests the channel for this model, in ms. */
  readonly restMs?: number;
  /** How long a connection may take to come about, in ms of real time. */
  readonly connectMs?: number;
  /** No connection of this upstream is left open behind the call. */
  readonly hangsUp?: boolean;
  /** How many connections this upstream has had at the end, the calls before included. */
  readonly connections?: number;
}

/** One row of the matrix. */
export interface FaultRow {
  /** As in FAULTS.md: `F05`. */
  readonly id: string;
  /** One sentence. */
  readonly fault: string;
  readonly kinds: readonly Kind[];
  readonly mounts: readonly MountName[];
  /**
   * What the upstream does on each of its connections. `leak` holds everything that no caller may
   * learn, in one line: scripts put it wherever an upstream could. `begun` resolves once the caller
   * has read something of the reply.
   */
  readonly upstream: (kind: Kind, leak: string, begun: Promise<void>) => Script;
  readonly expected: ExpectedOfKinds;
  /** All three where left out. */
  readonly companies?: readonly Company[];
  readonly circumstances?: Circumstances;
}

/** What a row expects of a kind; the narrower word wins. */
export function expectedOf({ expected }: Pick<FaultRow, 'expected'>, kind: Kind): Expected {
  const { image, streams, native, nativeStream, ...all } = expected;
  return {
    ...all,
    ...(kind === 'image' ? image : {}),
    ...(kind === 'native' || kind === 'native_stream' ? native : {}),
    ...(streamKinds.includes(kind) ? streams : {}),
    ...(kind === 'native_stream' ? nativeStream : {}),
  };
}
