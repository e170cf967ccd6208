/**
 * What every relay of ours does: undici's dispatch with its older handler, bodies in one write, the
 * chunks of a tick joined.
 */
import { Pool } from 'undici';
import { options, upstreamOrigin } from './measured.mjs';

/** Larger bodies, and streams, are sent as they come. */
const heldBytes = 64 * 1024;
/** Holds the `usage` at the end of any reply, and the events that follow it. */
const tailBytes = 4_096;

/** With `freshConnections` every call opens a connection, as the gateway does for images. */
export const pool = new Pool(upstreamOrigin, {
  connections: 10_000,
  pipelining: options.freshConnections ? 0 : 1,
  headersTimeout: 0,
  bodyTimeout: 0,
});

/** Sends a call to the upstream and its reply to the caller; `onTail` gets the reply's end. */
export function relay(url, body, res, onTail) {
  const headers = { 'content-type': 'application/json' };
  const path = options.prefix + url;
  pool.dispatch({ method: 'POST', path, body, headers }, replyHandler(res, onTail));
}

function replyHandler(res, onTail) {
  let gathered = [];
  let streamed = false;
  const tail = new Tail();
  const flush = () => {
    if (gathered.length === 0) return;
    const joined = gathered.length === 1 ? gathered[0] : Buffer.concat(gathered);
    gathered = [];
    if (onTail !== undefined) tail.add(joined);
    if (!res.write(joined)) pause();
  };
  let abort;
  let resume;
  let isPaused = false;
  const pause = () => {
    isPaused = true;
    res.once('drain', () => {
      isPaused = false;
      resume();
    });
  };
  return {
    onConnect(stop) {
      abort = stop;
      res.once('close', () => {
        if (!res.writableFinished) abort();
      });
    },
    onHeaders(status, headers, goOn) {
      resume = goOn;
      const type = headerOf(headers, 'content-type');
      const length = headerOf(headers, 'content-length');
      streamed = type.startsWith('text/event-stream') || Number(length) > heldBytes;
      const sized = length === undefined ? {} : { 'content-length': length };
      res.writeHead(status, { 'content-type': type, ...sized });
      return true;
    },
    onData(chunk) {
      gathered.push(chunk);
      if (streamed && gathered.length === 1) process.nextTick(flush);
      return !isPaused;
    },
    onComplete() {
      if (streamed) flush();
      const whole = streamed ? undefined : Buffer.concat(gathered);
      res.end(whole);
      onTail?.(whole ?? tail.join());
    },
    onError() {
      res.destroy();
    },
  };
}

/** The last pieces of a reply: joined once, at its end. */
class Tail {
  #pieces = [];
  #bytes = 0;

  add(piece) {
    this.#pieces.push(piece);
    this.#bytes += piece.length;
    while (this.#bytes - this.#pieces[0].length >= tailBytes) {
      this.#bytes -= this.#pieces.shift().length;
    }
  }

  join() {
    return Buffer.concat(this.#pieces);
  }
}

export function headerOf(headers, name) {
  for (let at = 0; at < headers.length; at += 2) {
    if (headers[at].length === name.length && headers[at].latin1Slice().toLowerCase() === name) {
      return headers[at + 1].latin1Slice();
    }
  }
  return undefined;
}
