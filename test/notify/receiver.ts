/** A receiver of notifications on a port of this machine, whose behaviour a test scripts. */
import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type ServerResponse,
} from 'node:http';
import { onTestFinished } from 'vitest';
import { closed, listening } from '../support/servers.ts';

/** A notification as it arrived. */
export interface Received {
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
  readonly body: Body;
}

/** The JSON of a notification. */
export interface Body {
  readonly type: string;
  readonly timestamp: string;
  readonly text: string;
  readonly data: Readonly<Record<string, unknown>>;
}

/** What the receiver does with a request that it has read. */
export type Behaviour = (response: ServerResponse, request: IncomingMessage) => void;

export interface Receiver {
  readonly url: string;
  readonly received: readonly Received[];
  /** Resolves once that many requests have been received. */
  count(requests: number): Promise<void>;
}

/** Replies with a status, and these headers. */
export function status(code: number, headers: Record<string, string> = {}): Behaviour {
  return (response) => response.writeHead(code, headers).end('{"secret":"of the receiver"}');
}

/** Behaves for each request as scripted, then as the last of the script. */
export async function startReceiver(...script: readonly Behaviour[]): Promise<Receiver> {
  const received: Received[] = [];
  const waiting = new Set<{ readonly requests: number; readonly resolve: () => void }>();
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(Buffer.from(chunk));
    const text = Buffer.concat(chunks).toString();
    const behave = script[received.length] ?? script.at(-1) ?? status(204);
    received.push({ headers: request.headers, text, body: JSON.parse(text) });
    for (const one of waiting) if (received.length >= one.requests) one.resolve();
    behave(response, request);
  });
  const origin = await listening(server);
  onTestFinished(() => closed(server));
  return {
    url: `${origin}/hook?token=in-the-url`,
    received,
    count: (requests) =>
      new Promise((resolve) => {
        if (received.length >= requests) resolve();
        else waiting.add({ requests, resolve });
      }),
  };
}
