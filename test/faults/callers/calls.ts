/**
 * The requests of rows F51–F62 as bytes, and the replies of their upstream: complete, halting in
 * the middle, or never ending.
 */

import type { Model } from '../../../src/ports/models/catalog.ts';
import type { Gate, Script } from '../../../src/testing/providers/scripts.ts';
import type { FakeUpstream } from '../../../src/testing/providers/server.ts';
import { rawRequest } from '../../support/raw-http.ts';
import { canaries } from '../canaries.ts';
import {
  dividedEvents,
  eventsFor,
  isNative,
  isStream,
  type Kind,
  keyHeadersOf,
  priceOf,
  protocolOf,
  relayingOf,
  replyOf,
  requestOf,
  typeOf,
} from '../kinds.ts';

/** The one model, configured for a kind of call. */
export function modelsFor(
  kind: Kind,
): (upstream: FakeUpstream, credential: string) => readonly Model[] {
  return ({ openaiBaseUrl, geminiBaseUrl }, credential) => [
    {
      id: 'm',
      vendor: 'Acme',
      protocols: [protocolOf(kind).name],
      groups: ['chat'],
      price: priceOf(kind),
      maxOutputTokens: 1_000,
      channels: [
        {
          id: 'first',
          ...relayingOf(kind),
          baseUrl: isNative(kind) ? geminiBaseUrl : openaiBaseUrl,
          credential,
          priority: 0,
          weight: 1,
        },
      ],
    },
  ];
}

/** How a call differs from a plain one. */
export interface Sending {
  readonly method?: string | undefined;
  readonly headers?: Readonly<Record<string, string>> | undefined;
}

/** The bytes of the call. */
export function bytesOf(kind: Kind, secret: string, sending: Sending = {}): string {
  const { method = 'POST', headers } = sending;
  const { path, body } = requestOf(kind);
  const key = keyHeadersOf(kind, secret);
  return rawRequest(
    `${method} ${path}`,
    { ...key, 'content-type': 'application/json', ...headers },
    body,
  );
}

/** The whole reply, immediately. */
export function answering(kind: Kind): Script {
  return scriptWith(kind, isStream(kind) ? eventsFor(kind) : [replyOf(kind)]);
}

/** The whole reply, once the gate is open. */
export function waiting(kind: Kind, { opened }: Gate): Script {
  return { ...answering(kind), waitFor: opened };
}

/** The first event of a stream; the rest of it once the gate is open. */
export function halting(kind: Kind, { opened }: Gate): Script {
  const [first, rest] = dividedEvents(kind);
  return scriptWith(kind, [first, opened, ...rest]);
}

/** The first event of a stream, repeated that many times, and then silence. */
export function neverEnding(kind: Kind, times: number): Script {
  const [first] = dividedEvents(kind);
  return { ...scriptWith(kind, Array<string>(times).fill(first)), ending: 'hang' };
}

/** An endless stream of events, as fast as they are read. */
export function flooding(kind: Kind): Script {
  const [first] = dividedEvents(kind);
  return { ...scriptWith(kind, endless(first.repeat(1_000))), ending: 'hang' };
}

/** An image of at least that many bytes, too large to be held. */
export function bigImage(bytes: number): Script {
  const before = `{"created":1,"data":[{"b64_json":"${canaries.base64}`;
  return scriptWith('images', [before, 'A'.repeat(bytes), '"}]}']);
}

function scriptWith(kind: Kind, chunks: Iterable<string | Promise<unknown>>): Script {
  return { status: 200, headers: { 'content-type': typeOf(kind) }, chunks };
}

function* endless(piece: string): Generator<string> {
  for (;;) yield piece;
}
