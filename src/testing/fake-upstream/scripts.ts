/**
 * The vocabulary of answers: a script says exactly what the fake upstream does with one call. The
 * constructors cover the common ones; any other is a literal, or one of these with members
 * replaced: `{ ...sse(events), ending: 'reset' }`.
 */
import type { JsonValue } from '../../json.ts';

/** One write of its own; a promise holds back what follows it until it is fulfilled. */
export type Piece = string | Uint8Array | Promise<unknown>;

/**
 * How an answer breaks off: a TCP reset, the socket closed (FIN), or silence until the caller
 * leaves.
 */
export type Break = 'reset' | 'close' | 'hang';

/** Names in any case; a list is sent as one line each. */
export type ScriptHeaders = Readonly<Record<string, string | readonly string[]>>;

/** One answer. Left empty it is a 200 with no body. */
export interface Script {
  /** Holds everything back, the status line too. */
  readonly waitFor?: Promise<unknown>;
  /** The same by time. For trying by hand; tests hold back with `waitFor`. */
  readonly delayMs?: number;
  /** Breaks in place of the status line; nothing below is played then. */
  readonly beforeHeaders?: Break;
  readonly status?: number;
  readonly headers?: ScriptHeaders;
  /** Sent whole, with its `content-length` unless `headers` has one. */
  readonly body?: string | Uint8Array;
  /**
   * Sent in place of `body`, each piece a write of its own. A generator is asked for the next piece
   * only when the socket took the last one, so an answer of any size is never held.
   */
  readonly chunks?: Iterable<Piece>;
  /** What follows the last byte; `end`, as HTTP has it, where left out. */
  readonly ending?: 'end' | Break;
  /** The chunks are the message itself, status line and framing included, for the bare socket. */
  readonly bare?: true;
}

/**
 * Holds an answer back until a test lets it go on: `opened` is a piece, or a script's `waitFor`.
 */
export interface Gate {
  readonly opened: Promise<void>;
  open(): void;
}

/** JSON, indented as the providers do it. */
export function json(status: number, value: JsonValue, headers: ScriptHeaders = {}): Script {
  return {
    status,
    headers: { 'content-type': 'application/json', ...headers },
    body: `${JSON.stringify(value, null, 2)}\n`,
  };
}

/**
 * Server-sent events, one chunk each. A string is sent as it is (`[DONE]`), a promise holds back,
 * any other value is sent as one line of JSON. Google ends lines with CRLF, OpenAI with LF.
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

/** Bytes for the bare socket in place of an HTTP response, which may thus be no HTTP at all. */
export function raw(...chunks: readonly Piece[]): Script {
  return { bare: true, chunks };
}

/** The connection breaks before the status line. */
export function reset(): Script {
  return { beforeHeaders: 'reset' };
}

/** Nothing ever comes. */
export function hang(): Script {
  return { beforeHeaders: 'hang' };
}

/** The ways to play a reply, by what they send. */
export const script: Readonly<{
  json: typeof json;
  sse: typeof sse;
  raw: typeof raw;
  reset: typeof reset;
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
