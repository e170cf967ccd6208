/**
 * The baseline: `node:http` and undici's dispatch with its older handler, bodies in one write, the
 * chunks of a tick joined. With `freshConnections` every call opens a connection, as images do.
 */
import { createServer } from 'node:http';
import { Pool } from 'undici';
import { measured, options, upstreamOrigin } from './measured.mjs';

const pool = new Pool(upstreamOrigin, {
  connections: 10_000,
  pipelining: options.freshConnections ? 0 : 1,
  headersTimeout: 0,
  bodyTimeout: 0,
});

const server = createServer((req, res) => {
  const pieces = [];
  req.on('data', (piece) => pieces.push(piece));
  req.on('end', () => relay(req.url, Buffer.concat(pieces), res));
});

function relay(url, body, res) {
  const handler = replyHandler(res);
  const headers = { 'content-type': 'application/json' };
  pool.dispatch({ method: 'POST', path: options.prefix + url, body, headers }, handler);
}

/** Small bodies in one write, with the head; streams and large bodies chunk by chunk. */
function replyHandler(res) {
  const heldBytes = 64 * 1024;
  let gathered = [];
  let streamed = false;
  const flush = () => {
    if (gathered.length === 0) return;
    const joined = gathered.length === 1 ? gathered[0] : Buffer.concat(gathered);
    gathered = [];
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
      res.end(streamed ? undefined : Buffer.concat(gathered));
    },
    onError() {
      res.destroy();
    },
  };
}

function headerOf(headers, name) {
  for (let at = 0; at < headers.length; at += 2) {
    if (headers[at].length === name.length && headers[at].latin1Slice().toLowerCase() === name) {
      return headers[at + 1].latin1Slice();
    }
  }
  return undefined;
}

await measured({ server });
