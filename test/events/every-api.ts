/**
 * Calls of every API over every kind of upstream, relayed and translated, with canaries in their
 * prompts and replies, and what an upstream answers to whatever it is asked.
 */

import { apiCalls, type OperationName, protocolNames } from '../../src/apis.ts';
import { upstreamPaths } from '../../src/dialects/paths.ts';
import { type DialectName, dialectNames } from '../../src/ports/models/capabilities.ts';
import type { Model } from '../../src/ports/models/catalog.ts';
import { canaries } from '../faults/canaries.ts';
import {
  dividedEvents,
  isStream,
  type Kind,
  kinds,
  priceOf,
  protocolOf,
  replyOf,
  requestOf,
  wholeKinds,
} from '../faults/kinds.ts';
import type { DrivenCall } from '../support/driven-upstream.ts';
import type { CallerRequest } from '../support/gateway-in-process.ts';
import { channel, model } from '../support/models.ts';

/** What no event, record or metric may contain. */
export const hidden: Readonly<Record<string, string>> = {
  prompt: canaries.prompt,
  base64: canaries.base64,
  completion: 'canary-completion about a very private matter',
  upstreamKey: canaries.upstreamKey,
};

/** A kind of call, and the dialect of the channels that serve it. */
export interface Route {
  readonly kind: Kind;
  readonly dialect: DialectName;
}

/** The dialects that can serve a family. */
function dialectsOf(family: OperationName): readonly DialectName[] {
  return dialectNames.filter((dialect) => upstreamPaths[dialect][family] !== undefined);
}

/** Every kind of call over every dialect that can serve it. */
export const routes: readonly Route[] = kinds.flatMap((kind) =>
  dialectsOf(familyOf(kind)).map((dialect) => ({
    kind,
    dialect,
  })),
);

/** The models: for each dialect and family one with two channels, and a fallback to the next. */
export const everyModel: readonly Model[] = [
  ...new Map(wholeKinds.map((kind) => [familyOf(kind), kind])).values(),
].flatMap(modelsOf);

/** The APIs with one operation, for which one model is enough. */
function familyOf(kind: Kind): OperationName {
  return protocolOf(kind).operation.name;
}

function modelsOf(kind: Kind): readonly Model[] {
  const family = familyOf(kind);
  const dialects = dialectsOf(family);
  const protocols = protocolNames.filter((name) => apiCalls[name].operation.name === family);
  return dialects.map((dialect, index) => {
    const own = channel({
      id: `${dialect}-${family}`,
      dialect,
      baseUrl: `https://${dialect}.example/v1`,
      credential: canaries.upstreamKey,
    });
    const next = dialects[(index + 1) % dialects.length] ?? dialect;
    return model({
      id: modelId(family, dialect),
      protocols,
      price: priceOf(kind),
      channels: [own, { ...own, id: `${own.id}-2` }],
      // Vectors of two models can't be compared, unless the host says so.
      ...(family === 'embed' ? { sameVectors: true } : {}),
      fallbacks: next === dialect ? [] : [modelId(family, next)],
      contextTokens: 100_000,
      mediaPartTokens: { image: 100 },
    });
  });
}

function modelId(family: OperationName, dialect: DialectName): string {
  return `${family}-${dialect}`;
}

/** The request of a route, with canaries in it. */
export function requestFor({ kind, dialect }: Route): CallerRequest {
  const { path, body } = requestOf(kind);
  const id = modelId(familyOf(kind), dialect);
  const [plainPath = '', search = ''] = path.replace('/models/m:', `/models/${id}:`).split('?');
  return {
    path: plainPath,
    search,
    body: body.replace('"model":"m"', `"model":"${id}"`),
    ...(kind.startsWith('messages') ? { headers: { 'anthropic-version': '2023-06-01' } } : {}),
  };
}

/** The kind of call that reached an upstream, by its path: translated calls are of another kind. */
function sentKind({ request: { path, body } }: DrivenCall): Kind | 'image_by_gemini' {
  const text = Buffer.concat([...body]).toString();
  const streamed = text.includes('"stream":true');
  if (path.endsWith('/images/generations')) return 'images';
  if (path.endsWith(':batchEmbedContents')) return 'batchEmbedContents';
  if (path.includes(':embedContent')) return 'embedContent';
  if (path.endsWith('/embeddings')) return 'embeddings';
  if (path.includes(':stream')) return 'native_stream';
  if (path.includes(':generate')) return text.includes('"IMAGE"') ? 'image_by_gemini' : 'native';
  if (path.endsWith('/responses')) return streamed ? 'responses_stream' : 'responses';
  if (path.endsWith('/messages')) return streamed ? 'messages_stream' : 'messages';
  return streamed ? 'chat_stream' : 'chat';
}

/** True if the upstream is to answer with a stream of events. */
export function isStreamed(call: DrivenCall): boolean {
  return sentType(call) === 'text/event-stream';
}

function sentType(call: DrivenCall): string {
  const kind = sentKind(call);
  const streamed = kind !== 'image_by_gemini' && isStream(kind);
  return streamed ? 'text/event-stream' : 'application/json';
}

/** The headers of a reply to the call. */
export function headersFor(call: DrivenCall): Readonly<Record<string, string>> {
  return { 'content-type': sentType(call) };
}

/** The complete reply to a call. */
export function replyFor(call: DrivenCall): string {
  const kind = sentKind(call);
  if (kind === 'image_by_gemini') return geminiImage;
  return withCanary(replyOf(kind));
}

/** A stream up to its first content, and what comes after that. */
export function partsFor(call: DrivenCall): readonly [beginning: string, rest: string] {
  const kind = sentKind(call);
  if (kind === 'image_by_gemini') throw new Error(`${kind} has no stream.`);
  const [beginning, rest] = dividedEvents(kind);
  return [withCanary(beginning), rest.join('')];
}

function withCanary(reply: string): string {
  return reply.replace(/Hi!|Once/g, hidden.completion ?? '');
}

const geminiImage = JSON.stringify({
  candidates: [
    {
      content: {
        role: 'model',
        parts: [{ inlineData: { mimeType: 'image/png', data: canaries.base64 } }],
      },
      finishReason: 'STOP',
      index: 0,
    },
  ],
  usageMetadata: { promptTokenCount: 10, candidatesTokenCount: 5, totalTokenCount: 15 },
});
