/**
 * Scripts: each defines exactly how the fake upstream handles one call. The functions below make
 * the common ones; for others write a literal, or replace members: `{ ...sse(events), ending:
 * 'reset' }`.
 */
import type { JsonValue } from '../../json.ts';

/** One separate write. A promise delays the pieces after it until it is fulfilled. */
export type Piece = string | Uint8Array | Promise<unknown>;

/**
 * How a reply breaks off: by a TCP reset, by closing the socket (FIN), or by silence until the
 * caller disconnects.
 */
export type Break = 'reset' | 'close' | 'hang';

/** Names in any case; a list is sent as one header line per item. */
export type ScriptHeaders = Readonly<Record<string, string | readonly string[]>>;

/** The handling of one call. An empty script is a 200 without a body. */
export interface Script {
  /** Delays everything, including the status line, until it is fulfilled. */
  readonly waitFor?: Promise<unknown>;
  /** Delays everything for this time. For manual tests; automated ones use `waitFor`. */
  readonly delayMs?: number;
  /** Breaks the connection before the status line; the members below are then ignored. */
  readonly beforeHeaders?: Break;
  /** The HTTP status. Default: 200. */
  readonly status?: number;
  /** Headers of the reply, over those of its kind. */
  readonly headers?: ScriptHeaders;
  /** Sent whole, with a `content-length` unless `headers` has one. */
  readonly body?: string | Uint8Array;
  /**
   * Sent in place of `body`, each piece as a separate write. The next piece is taken only after the
   * socket has accepted the last one, so a generator can send a reply of any size.
   */
  readonly chunks?: Iterable<Piece>;
  /** What follows the last byte. Default: `end`, a complete HTTP message. */
  readonly ending?: 'end' | Break;
  /** The chunks are written to the raw socket, including the status line and framing. */
  readonly bare?: true;
}

/**
 * Delays a reply until a test opens the gate: use `opened` as a piece, or as a script's `waitFor`.
 */
export interface Gate {
  /** Resolves when the gate is open. */
  readonly opened: Promise<void>;
  /** Lets what waits for the gate continue. */
  open(): void;
}

/** A JSON reply, indented like those of the providers. */
export function json(status: number, value: JsonValue, headers: ScriptHeaders = {}): Script {
  return {
    status,
    headers: { 'content-type': 'application/json', ...headers },
    body: `${JSON.stringify(value, null, 2)}\n`,
  };
}

/**
 * Server-sent events, one chunk each. A string is sent unchanged (`[DONE]`), a promise delays what
 * follows, any other value is sent as one line of JSON. Google ends lines with CRLF, OpenAI with
 * LF.
 */
export function sse(
  events: Iterable<JsonValue | Promise<unknown>>,
  eol: '\n' | '\r\n' = '\n',
): Script {
  return {
    status: 200,
    headers: { 'content-type': 'text/event-stream' },
    chunks: [...events].map((event) => frame(event, eol)),
  };
}

/** The script with these headers too, unless it has its own of that name. */
export function withHeaders(made: Script, headers: ScriptHeaders): Script {
  return { ...made, headers: { ...headers, ...made.headers } };
}

/** Bytes for the raw socket in place of an HTTP response; they need not be valid HTTP. */
export function raw(...chunks: readonly Piece[]): Script {
  return { bare: true, chunks };
}

export function reset(): Script {
  return { beforeHeaders: 'reset' };
}

export function hang(): Script {
  return { beforeHeaders: 'hang' };
}

/** The functions that make scripts. */
export const script: Readonly<{
  /** A whole reply with a JSON text as its body. */
  json: typeof json;
  /** A stream of server-sent events. */
  sse: typeof sse;
  /** A body of any bytes, in pieces that may wait. */
  raw: typeof raw;
  /** The connection is reset before a reply. */
  reset: typeof reset;
  /** No reply ever comes. */
  hang: typeof hang;
}> = { json, sse, raw, reset, hang };

/** A closed gate. */
export function gate(): Gate {
  let open = (): void => {};
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { opened, open };
}

function frame(event: JsonValue | Promise<unknown>, eol: string): Piece {
  if (event instanceof Promise) return event;
  const data = typeof event === 'string' ? event : JSON.stringify(event);
  return `data: ${data}${eol}${eol}`;
}
