/**
 * `POST /v1beta/models/{model}:embedContent` and `:batchEmbedContents`: Gemini's embeddings. They
 * are two rows of the table, because requests and replies differ, and one API for catalogs.
 */

import { type ApiCalls, apiCalls } from '../../apis.ts';
import { originalBytes } from '../../bytes/body/body.ts';
import type { MemberEdit } from '../../bytes/body/splice.ts';
import { none, root } from '../../bytes/json/tape.ts';
import type { Call } from '../../call.ts';
import { quoted } from '../../canonical/raw-json.ts';
import { geminiInBandFailure } from '../../dialects/gemini/errors.ts';
import { resourceName, resourcePath } from '../../dialects/gemini/resource.ts';
import { embeddingTap } from '../../dialects/taps/embedding-tap.ts';
import { geminiEmbeddingUsage } from '../../dialects/usage/embedding-usage.ts';
import type { FailureReason } from '../../failure-reasons.ts';
import { isJsonObject, items, type JsonValue, member } from '../../json.ts';
import type { Usage } from '../../money.ts';
import { geminiCaller } from '../callers/gemini.ts';
import { fieldOf } from '../fields.ts';
import type { Protocol, RelayRules } from '../protocol.ts';
import { countRemark } from '../rules.ts';
import { readBatchEmbedContents, readEmbedContent } from './read.ts';

const readUsage = (reply: JsonValue): Usage | undefined =>
  geminiEmbeddingUsage(member(reply, 'usageMetadata'));

const tapOptions = {
  usageMembers: ['usageMetadata'],
  readUsage,
  inBandFailure: geminiInBandFailure,
} as const;

/** The rules for `:embedContent`. Calls of other dialects use the method for batches. */
const embedContentRelay: RelayRules = {
  readUsage,
  tap: () => embeddingTap({ ...tapOptions, vectorsMember: undefined, remarkOn: () => undefined }),
  remarks: () => ({ reason: undefined, notes: {} }),
  paths: { embed: (upstreamModel) => `/${resourcePath(upstreamModel)}:embedContent` },
  edits: (call, upstreamModel) =>
    call.modelId === upstreamModel ? [] : modelEdits(call, upstreamModel),
  invalidReplyReason: (reply) => reasonUnless(isJsonObject(member(reply, 'embedding') ?? null)),
};

const batchEmbedContentsRelay: RelayRules = {
  readUsage,
  tap: (call) =>
    embeddingTap({
      ...tapOptions,
      vectorsMember: 'embeddings',
      remarkOn: (vectors) => countRemark(vectors, call),
    }),
  remarks: (reply, call) => ({
    reason: countRemark(items(member(reply, 'embeddings')).length, call),
    notes: {},
  }),
  edits: (call, upstreamModel) =>
    call.modelId === upstreamModel
      ? []
      : [...modelEdits(call, upstreamModel), ...requestEdits(call, upstreamModel)],
  invalidReplyReason: (reply) => reasonUnless(Array.isArray(member(reply, 'embeddings'))),
};

function reasonUnless(isReply: boolean): FailureReason | undefined {
  return isReply ? undefined : 'upstream_protocol_error';
}

/** The path decides; if the body names the model too, it must be the same name upstream. */
function modelEdits({ tape }: Call, upstreamModel: string): readonly MemberEdit[] {
  const name = fieldOf(tape, 'model');
  return name === undefined ? [] : [{ name: 'model', value: renamed(name, upstreamModel) }];
}

function renamed(name: JsonValue, upstreamModel: string): string {
  const hasPrefix = typeof name === 'string' && name.startsWith('models/');
  return quoted(hasPrefix ? resourceName(upstreamModel) : upstreamModel);
}

/** Every request of a batch may name the model. All other bytes are kept. */
function requestEdits({ tape }: Call, upstreamModel: string): readonly MemberEdit[] {
  const requests = tape.get(root, 'requests');
  const pieces: string[] = [];
  let from = tape.start(requests);
  const copyTo = (end: number): void => {
    pieces.push(originalBytes(tape.body, from, end).toString('utf8'));
  };
  for (const request of tape.elements(requests)) {
    const named = tape.get(request, 'model');
    if (named === none) continue;
    copyTo(tape.start(named));
    pieces.push(renamed(tape.shortText(named) ?? '', upstreamModel));
    from = tape.end(named);
  }
  if (pieces.length === 0) return [];
  copyTo(tape.end(requests));
  return [{ name: 'requests', value: pieces.join('') }];
}

const shared: Omit<Protocol, keyof ApiCalls | 'read' | 'relay' | 'codecs'> = {
  name: 'embeddings',
  caller: geminiCaller,
  dialect: 'gemini',
  relayCapability: undefined,
  maxBodyBytes: ({ maxBodyBytes }) => maxBodyBytes,
  // Google's clients don't send this header.
  repeatableAs: undefined,
  // The API has no member for several answers.
  outputLimits: [],
  candidates: { member: 'candidateCount', maximum: 1 },
  imageCounter: undefined,
  keepAlive: () => undefined,
};

const embeddingServers = () => import('../../dialects/gemini/embedding-server.ts');

export const embedContent: Protocol = {
  ...shared,
  ...apiCalls.embedContent,
  read: readEmbedContent,
  relay: embedContentRelay,
  codecs: async () => ({ embeddings: (await embeddingServers()).geminiEmbeddingServer }),
};

export const batchEmbedContents: Protocol = {
  ...shared,
  ...apiCalls.batchEmbedContents,
  read: readBatchEmbedContents,
  relay: batchEmbedContentsRelay,
  codecs: async () => ({ embeddings: (await embeddingServers()).geminiBatchEmbeddingServer }),
};
