/** A server of `node:http` for a function that turns a Web request into a response. */
import { once } from 'node:events';
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import { cutOff } from '../../src/host/streams.ts';

/** Answers a Web request; may reject. */
export type Fetch = (request: Request) => Response | Promise<Response>;

/**
 * The smallest correct server: bodies flow with back-pressure in both directions, a caller that
 * disconnects aborts the signal and cancels the body, and a body that fails cuts the connection.
 * What a request leaves unread of its body is read and discarded.
 */
export function fetchListener(fetch: Fetch, report: (error: unknown) => void): RequestListener {
  return (req, res) => {
    serve(fetch, req, res).catch((error: unknown) => {
      report(error);
      res.destroy();
    });
  };
}

async function serve(fetch: Fetch, req: IncomingMessage, res: ServerResponse): Promise<void> {
  const left = new AbortController();
  req.on('error', () => {});
  res.on('error', () => {});
  res.once('close', () => {
    if (!res.writableFinished) left.abort();
  });
  res.once('finish', () => req.resume());
  const request = webRequest(req, left.signal);
  if (request === undefined) return void res.writeHead(400).end();
  const response = await fetch(request);
  if (res.destroyed) return void (await response.body?.cancel());
  res.writeHead(response.status, Object.fromEntries(response.headers));
  if (response.body === null) return void res.end();
  await send(response.body, res);
}

/** Undefined if the target is no URL, or the method is none that `Request` allows. */
function webRequest(req: IncomingMessage, signal: AbortSignal): Request | undefined {
  try {
    return newRequest(req, signal);
  } catch {
    return undefined;
  }
}

function newRequest(req: IncomingMessage, signal: AbortSignal): Request {
  const { method = 'GET', url = '/', rawHeaders } = req;
  const headers = new Headers();
  for (let index = 0; index + 1 < rawHeaders.length; index += 2) {
    headers.append(rawHeaders[index] ?? '', rawHeaders[index + 1] ?? '');
  }
  const hasBody = method !== 'GET' && method !== 'HEAD';
  return new Request(new URL(url, `http://${req.headers.host}`), {
    method,
    headers,
    signal,
    ...(hasBody ? { body: bodyOf(req), duplex: 'half' } : {}),
  });
}

/** Begins to read when the first chunk is asked for. */
function bodyOf(req: IncomingMessage): ReadableStream<Uint8Array> {
  const chunks = req[Symbol.asyncIterator]();
  return new ReadableStream(
    {
      pull: async (controller) => {
        const { done, value } = await chunks.next();
        if (done) controller.close();
        else controller.enqueue(value);
      },
    },
    { highWaterMark: 0 },
  );
}

async function send(body: ReadableStream<Uint8Array>, res: ServerResponse): Promise<void> {
  const reader = body.getReader();
  res.once('close', () => void reader.cancel().catch(() => {}));
  try {
    for (let part = await reader.read(); !part.done; part = await reader.read()) {
      if (!res.write(part.value) && !res.destroyed) await written(res);
    }
    res.end();
  } catch {
    cutOff(res);
  }
}

/** Resolves when the response can take more, or has closed. */
async function written(res: ServerResponse): Promise<void> {
  const done = new AbortController();
  await Promise.race(['drain', 'close'].map((event) => once(res, event, done)));
  done.abort();
}
