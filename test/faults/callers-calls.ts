/**
 * What the callers of rows F51–F62 send as bytes, and what their upstream says to it: replies that
 * come whole, halt in their midst, or never end.
 */
import type { Model } from '../../src/ports/catalog.ts';
import type { Gate, Script } from '../../src/testing/fake-upstream/scripts.ts';
import type { FakeUpstream } from '../../src/testing/fake-upstream/server.ts';
import { request } from '../support/wire.ts';
import { asked, dialectOf, events, isNative, isStream, priceOf, replies, typeOf } from './asks.ts';
import { canaries } from './canaries.ts';
import type { Kind } from './row.ts';

/** The one model there is, as a kind of call needs it. */
export function modelsFor(
  kind: Kind,
): (upstream: FakeUpstream, credential: string) => readonly Model[] {
  return ({ openaiBaseUrl, geminiBaseUrl }, credential) => [
    {
      id: 'm',
      vendor: 'Acme',
      protocols: ['chat', 'images', 'native'],
      groups: ['chat'],
      price: priceOf(kind),
      maxOutputTokens: 1_000,
      channels: [
        {
          id: 'first',
          dialect: dialectOf(kind),
          baseUrl: isNative(kind) ? geminiBaseUrl : openaiBaseUrl,
          credential,
          priority: 0,
          weight: 1,
        },
      ],
    },
  ];
}

/** How a call is sent where it is no plain one. */
export interface Sending {
  readonly method?: string | undefined;
  readonly headers?: Readonly<Record<string, string>> | undefined;
}

/** The call as it stands on the wire. */
export function bytesOf(kind: Kind, secret: string, sending: Sending = {}): string {
  const { method = 'POST', headers } = sending;
  const { path, body } = asked(kind);
  const key = keyHeader(isNative(kind), secret);
  return request(
    `${method} ${path}`,
    { ...key, 'content-type': 'application/json', ...headers },
    body,
  );
}

/** What carries the key in the dialect of a path. */
function keyHeader(native: boolean, secret: string): Readonly<Record<string, string>> {
  return native ? { 'x-vendor-api-key': secret } : { authorization: `Bearer ${secret}` };
}

/** The whole reply, at once. */
export function answering(kind: Kind): Script {
  return saying(kind, isStream(kind) ? streamOf(kind) : [replies[kind]]);
}

/** The whole reply, once the gate is open. */
export function waiting(kind: Kind, { opened }: Gate): Script {
  return { ...answering(kind), waitFor: opened };
}

/** The first event of a stream; the rest of it once the gate is open. */
export function halting(kind: Kind, { opened }: Gate): Script {
  const [first = '', ...rest] = streamOf(kind);
  return saying(kind, [first, opened, ...rest]);
}

/** The first event of a stream so many times, and then silence. */
export function neverEnding(kind: Kind, times: number): Script {
  const [first = ''] = streamOf(kind);
  return { ...saying(kind, Array<string>(times).fill(first)), ending: 'hang' };
}

/** Events without an end, as fast as they are read. */
export function flooding(kind: Kind): Script {
  const [first = ''] = streamOf(kind);
  return { ...saying(kind, forEver(first.repeat(1_000))), ending: 'hang' };
}

/** A picture of so many bytes and more, which is pushed past and never held. */
export function bigPicture(bytes: number): Script {
  const before = `{"created":1,"data":[{"b64_json":"${canaries.base64}`;
  return saying('image', [before, 'A'.repeat(bytes), '"}]}']);
}

function saying(kind: Kind, chunks: Iterable<string | Promise<unknown>>): Script {
  return { status: 200, headers: { 'content-type': typeOf(kind) }, chunks };
}

function streamOf(kind: Kind): readonly string[] {
  return kind === 'native_stream' ? events.native_stream : events.chat_stream;
}

function* forEver(piece: string): Generator<string> {
  for (;;) yield piece;
}
