/** The baseline: `node:http` and undici's dispatch, bodies in one write, the chunks of a tick joined. */
import { createServer } from 'node:http';
import { Pool } from 'undici';
import { measured } from './measured.mjs';

export function start(upstreamPort, scenario) {
  const pool = new Pool(`http://127.0.0.1:${upstreamPort}`, { connections: 1024, pipelining: 1 });
  const path = `${scenario}/v1/chat/completions`;
  return createServer((req, res) => {
    const pieces = [];
    req.on('data', (piece) => pieces.push(piece));
    req.on('end', () => relay(pool, path, Buffer.concat(pieces), res));
  });
}

function relay(pool, path, body, res) {
  let gathered = [];
  let streamed = false;
  const flush = () => {
    if (gathered.length > 0) res.write(Buffer.concat(gathered));
    gathered = [];
  };
  pool.dispatch(
    { method: 'POST', path, body, headers: { 'content-type': 'application/json' } },
    {
      onConnect() {},
      onHeaders(status, headers) {
        const at = headers.findIndex((name) => name.toString().toLowerCase() === 'content-type');
        const type = headers[at + 1].toString();
        streamed = type.startsWith('text/event-stream');
        if (streamed) res.writeHead(status, { 'content-type': type });
        return true;
      },
      onData(chunk) {
        gathered.push(chunk);
        if (streamed && gathered.length === 1) process.nextTick(flush);
        return true;
      },
      onComplete() {
        if (streamed) {
          flush();
          res.end();
          return;
        }
        const whole = Buffer.concat(gathered);
        res.writeHead(200, { 'content-type': 'application/json', 'content-length': whole.length });
        res.end(whole);
      },
      onError() {
        res.destroy();
      },
    },
  );
}

measured(start);
