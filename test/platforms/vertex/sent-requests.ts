/** What an official client sends to Vertex AI, and what the gateway sends for the same call. */
import { expect } from 'vitest';
import type { HeaderMap } from '../../../src/http.ts';
import type { JsonValue } from '../../../src/json.ts';
import type { Channel } from '../../../src/ports/models/catalog.ts';
import { anyModelGateway } from '../../support/any-model-gateway.ts';
import type { CallerReply } from '../../support/gateway-in-process.ts';
import { type ScriptedUpstream, scriptedUpstream } from '../../support/scripted-upstream.ts';

export const token = 'ya29.vertex-token-4711';

export interface Sent {
  readonly url: string;
  readonly headers: HeaderMap;
  readonly body: JsonValue;
}

/** A reply of Vertex AI. */
export interface Scripted {
  readonly status?: number;
  readonly contentType?: string;
  readonly text: string;
}

export type Fetch = typeof fetch;

/** A `fetch` without a network, and what was sent by it. */
export function recordingFetch({ status = 200, contentType = json, text }: Scripted): {
  readonly fetch: Fetch;
  readonly sent: readonly Sent[];
} {
  const sent: Sent[] = [];
  return {
    sent,
    fetch: async (input, init) => {
      const headers = Object.fromEntries(new Headers(init?.headers));
      sent.push({ url: urlOf(input), headers, body: JSON.parse(String(init?.body)) });
      return new Response(text, { status, headers: { 'content-type': contentType } });
    },
  };
}

const json = 'application/json';

/** A gateway with one channel, as the `fetch` of its callers, and what it sent upstream. */
export function gatewayFetch(
  channel: Partial<Channel>,
  { status = 200, contentType = json, text }: Scripted,
): {
  readonly fetch: Fetch;
  readonly replies: readonly CallerReply[];
  sent(): readonly Sent[];
} {
  const headers = { 'content-type': contentType };
  const upstream = scriptedUpstream({ status, headers, chunks: [text] });
  const gateway = anyModelGateway({ upstream, channel: { credential: token, ...channel } });
  const replies: CallerReply[] = [];
  return {
    replies,
    sent: () => sentBy(upstream),
    fetch: async (input, init) => {
      const url = new URL(urlOf(input));
      const reply = await gateway.call({
        path: url.pathname,
        search: url.search.slice(1),
        body: String(init?.body),
        headers: Object.fromEntries(new Headers(init?.headers)),
      });
      replies.push(reply);
      return new Response(Uint8Array.from(reply.bytes), {
        status: reply.status,
        headers: reply.headers,
      });
    },
  };
}

export function sentBy({ requests }: Pick<ScriptedUpstream, 'requests'>): readonly Sent[] {
  return requests.map(({ origin, path, headers, body }) => ({
    url: origin + path,
    headers,
    body: JSON.parse(Buffer.concat(body).toString('utf8')),
  }));
}

function urlOf(input: Parameters<Fetch>[0]): string {
  return input instanceof Request ? input.url : String(input);
}

/** Headers that may differ, and why. All others must be equal. */
const acceptedHeaders: Readonly<Record<string, string>> = {
  accept: 'the gateway asks for events where it asked for a stream',
  'accept-encoding': 'the gateway asks for bytes that it can read as they arrive',
  'content-length': 'spaces in the caller’s JSON are kept',
  'user-agent': 'the name of the client',
  'x-goog-api-client': 'the name of the client',
};

function comparable(headers: HeaderMap): HeaderMap {
  return Object.fromEntries(
    Object.entries(headers).filter(
      ([name]) => !(name in acceptedHeaders) && !name.startsWith('x-stainless-'),
    ),
  );
}

/** That both have sent the same, but for the headers above. */
export function expectSame(sent: readonly Sent[], official: readonly Sent[]): void {
  const plain = (all: readonly Sent[]) =>
    all.map(({ url, headers, body }) => ({ url, headers: comparable(headers), body }));
  expect(official.length).toBeGreaterThan(0);
  expect(plain(sent)).toEqual(plain(official));
}
