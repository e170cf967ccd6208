/**
 * The form of a row of the fault matrix: one fault of an upstream, the script that causes it, and
 * the expected results.
 */
import type { ErrorCode } from '../../../src/errors.ts';
import type { CallOutcome } from '../../../src/ports/usage-sink.ts';
import { isOtherVersion } from '../../support/sample.ts';
import { embeddingKinds, isStream, type Kind } from '../kinds.ts';
import type { Script } from '../raw-upstream.ts';

/** The mounts of the matrix, by their names in `test/adapters/mounts.ts`. */
export type MountName =
  | 'node:http'
  | 'Express 4 at the root'
  | 'Express 5 at the root'
  | 'Koa 3 at the root'
  | 'Fastify 5 at the root';

/** All mounts of the matrix. */
export const allMounts: readonly MountName[] = [
  'node:http',
  'Express 4 at the root',
  'Express 5 at the root',
  'Koa 3 at the root',
  'Fastify 5 at the root',
];

/**
 * On all Node versions but one the matrix is thin: one mount, and fewer offsets at which replies
 * are cut. `TEST_FORM=full` runs each row on all of its mounts.
 */
export const isThin: boolean = isOtherVersion;
/** See {@link isThin}. */
export const isFull: boolean = process.env.TEST_FORM === 'full';

/** For rows with hundreds of cuts, whose results do not depend on the adapter. */
export const oneMount: readonly MountName[] = ['node:http'];

/**
 * What the caller gets. `reply`: the complete reply. A code of `errors.ts`: that error in the
 * caller's API. `broken`: a 200 whose stream ends with the named error, by default
 * `upstream_failed`. `cut`: a 200 whose connection breaks off.
 */
export type CallerReply = 'reply' | 'cut' | 'broken' | `broken: ${ErrorCode}` | ErrorCode;

/**
 * `nothing`: 0, and the hold is released. `usage`: the usage that the upstream reported.
 * `observed`: more than 0, by the content that arrived. `pending`: an image that may have been made
 * keeps its hold.
 */
export type Charged = 'nothing' | 'usage' | 'observed' | 'pending';

/**
 * The effect on the channel's health. `none`: not its fault. `counted`: one of the failures that
 * open the circuit. `timed_out`: deprioritized. `cooling_down`: cools down immediately. `refused`:
 * out until the host changes something.
 */
export type Health = 'none' | 'counted' | 'timed_out' | 'cooling_down' | 'refused';

/** The expected results of a fault, for one kind of call. */
export interface Expected {
  /** The caller's answer if this is the only channel. */
  readonly callerGets: CallerReply;
  /** The status of an error, if the caller's API has another one for it than the code's own. */
  readonly status?: number;
  /** The code of the upstream's error, if the caller's error has it. */
  readonly keptCode?: string | undefined;
  /** The expected `Retry-After` in seconds; there must be none if left out. */
  readonly retryAfter?: number | undefined;
  /** The call fails until the host changes something, so SDKs must not retry it. */
  readonly lasts?: boolean;
  readonly charge: Charged;
  readonly outcome: CallOutcome;
  /** The reason in the event and the record; undefined if nothing went wrong. */
  readonly reason: string | undefined;
  /** How often this upstream is called; a connection without a request counts too. */
  readonly calls: number;
  /**
   * With a second, healthy channel: `second`, that one answers, and is called once. `same`: the
   * caller gets the same as with a single channel, and the other is never called.
   */
  readonly withSecond: 'second' | 'same';
  readonly health: Health;
}

/** The expected results of all kinds, and what differs for some. */
export interface ExpectedOfKinds extends Expected {
  readonly image?: Partial<Expected>;
  /** For both kinds of embeddings. */
  readonly embeddings?: Partial<Expected>;
  /** For all kinds of streams. */
  readonly streams?: Partial<Expected>;
  readonly native?: Partial<Expected>;
  readonly nativeStream?: Partial<Expected>;
  readonly responsesStream?: Partial<Expected>;
  /** For both kinds of the Messages API. */
  readonly messages?: Partial<Expected>;
}

/** Origins that a channel may have, such as `http://127.0.0.1:49152`. */
export interface Origins {
  /** The server that runs the script. */
  readonly script: string;
  /** Neither accepts nor refuses connections. */
  readonly blackhole: string;
}

/**
 * `with_second`: there is also a healthy channel of lower priority. `repeated`: there is, and the
 * fault occurs five times in a row, after which the circuit is open if the fault counts.
 */
export type ChannelSetup = 'single' | 'with_second' | 'repeated';

/** How the case differs from a plain call. */
export interface Circumstances {
  /** The origin of the channel, if it is not the script's server. */
  readonly at?: (places: Origins) => string;
  /** The script's server uses TLS, with this certificate of `test/faults/certificates`. */
  readonly certificate?: string;
  /**
   * How far the clock advances once the script stalls, in ms: before the head of the response has
   * arrived for `head`, after it for `body`.
   */
  readonly advances?: { readonly afterStallIn: 'head' | 'body'; readonly ms: number };
  /** The length of the prompt. */
  readonly promptBytes?: number;
  /** The number of calls before, one after another, each of which must succeed. */
  readonly callsBefore?: number;
  /** The upstream's error message is forwarded to the caller, redacted. */
  readonly forwardsMessage?: boolean;
  /** The body that the caller must get, if it is not the usual reply. */
  readonly expectedBody?: (kind: Kind) => string;
  /** How long the channel cools down for this model, in ms. */
  readonly cooldownMs?: number;
  /** The connect timeout, in ms of real time. */
  readonly connectMs?: number;
  /** The gateway must leave no connection to this upstream open. */
  readonly closesConnection?: boolean;
  /** The number of connections to this upstream at the end, including the calls before. */
  readonly connections?: number;
}

/** One row of the matrix. */
export interface FaultRow {
  /** The number of the fault, such as `F05`; rows about the same fault share it. */
  readonly id: string;
  /** One sentence. */
  readonly fault: string;
  readonly kinds: readonly Kind[];
  readonly mounts: readonly MountName[];
  /**
   * What the upstream does on each of its connections. `leak` contains every secret in one line:
   * scripts put it wherever an upstream could. `begun` resolves once the caller has received
   * something of the reply.
   */
  readonly upstream: (kind: Kind, leak: string, begun: Promise<void>) => Script;
  readonly expected: ExpectedOfKinds;
  /** Default: all three. */
  readonly channelSetups?: readonly ChannelSetup[];
  readonly circumstances?: Circumstances;
}

/** The expected results for a kind; the more specific ones win. */
export function expectedOf({ expected }: Pick<FaultRow, 'expected'>, kind: Kind): Expected {
  const { image, embeddings, streams, native, nativeStream, responsesStream, messages, ...all } =
    expected;
  return {
    ...all,
    ...(kind === 'images' ? image : {}),
    ...(embeddingKinds.some((one) => one === kind) ? embeddings : {}),
    ...(kind === 'native' || kind === 'native_stream' ? native : {}),
    ...(isStream(kind) ? streams : {}),
    ...(kind === 'native_stream' ? nativeStream : {}),
    ...(kind === 'responses_stream' ? responsesStream : {}),
    ...(kind === 'messages' || kind === 'messages_stream' ? messages : {}),
  };
}
