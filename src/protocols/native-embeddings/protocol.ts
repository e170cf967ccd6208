/**
 * `POST /v1beta/models/{model}:embedContent` and `:batchEmbedContents`: Gemini's embeddings. They
 * are two rows of the table, because requests and replies differ, and one API for catalogs.
 */

import { z } from 'zod';
import { type ApiCalls, apiCalls } from '../../apis.ts';
import { originalBytes } from '../../bytes/body/body.ts';
import type { MemberEdit } from '../../bytes/body/splice.ts';
import { none, root, type Tape, type Value } from '../../bytes/json/tape.ts';
import type { Call, InputSize } from '../../call.ts';
import { quoted } from '../../canonical/raw-json.ts';
import { geminiInBandFailure } from '../../dialects/gemini/errors.ts';
import { mediaOfContent } from '../../dialects/gemini/prompt-size.ts';
import { resourceName, resourcePath } from '../../dialects/gemini/resource.ts';
import { leafBytes, otherBytes, sizeOfInputs } from '../../dialects/measure/embedding-size.ts';
import { embeddingTap } from '../../dialects/taps/embedding-tap.ts';
import { geminiEmbeddingUsage } from '../../dialects/usage/embedding-usage.ts';
import { type GatewayError, invalidRequest } from '../../errors.ts';
import type { FailureReason } from '../../failure-reasons.ts';
import { isJsonObject, items, type JsonValue, member } from '../../json.ts';
import type { Usage } from '../../money.ts';
import { geminiCaller } from '../callers/gemini.ts';
import { arrayMember, checkedFields, fieldOf } from '../fields.ts';
import { refuseOtherModel } from '../native/read.ts';
import type { CallTarget, Protocol, RelayRules } from '../protocol.ts';
import { countRemark, newCall, positiveField } from '../rules.ts';
import { refuseOtherCase, refuseTwoSpellings } from '../spellings.ts';

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
  maxBodyBytes: ({ maxBodyBytes }) => maxBodyBytes,
  // Google's clients don't send this header.
  takesIdempotencyKey: false,
  // The API has no member for several answers.
  outputLimits: [],
  candidates: { member: 'candidateCount', maximum: 1 },
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

/** Reads `:embedContent`. */
function readEmbedContent(tape: Tape, target: CallTarget): Call {
  const { modelId = '' } = target;
  return callOf(tape, target, [readOne(tape, root, modelId, '')], 0);
}

/** Reads `:batchEmbedContents`. */
export function readBatchEmbedContents(tape: Tape, target: CallTarget): Call {
  const { modelId = '' } = target;
  refuseOtherModel(fieldOf(tape, 'model'), modelId);
  const requests = arrayMember(tape, 'requests', 'Send [{"content":{"parts":[{"text":"…"}]}}].');
  const inputs = tape.elements(requests).map((request, index) => {
    const at = `requests[${index}]`;
    if (!tape.isObject(request)) throw invalid(at, 'must be an object with `content`');
    return readOne(tape, request, modelId, `${at}.`);
  });
  return callOf(tape, target, inputs, otherBytes(tape, batchMembers));
}

const batchMembers: ReadonlySet<string> = new Set(['model', 'requests']);

/** Members of a request for which an upstream counts no tokens; they are short or checked. */
const settings: ReadonlySet<string> = new Set([
  ...['model', 'taskType', 'task_type', 'outputDimensionality', 'output_dimensionality'],
]);

const requestFields = z.object({
  outputDimensionality: positiveField,
  output_dimensionality: positiveField,
});

function readOne(tape: Tape, object: Value, modelId: string, at: string): InputSize {
  refuseOtherModel(fieldOf(tape, 'model', object), modelId, `${at}model`);
  refuseTwoSpellings(tape, { object, at });
  for (const value of tape.members(object)) refuseOtherCase(tape.name(value), at);
  checkedFields(
    requestFields,
    {
      outputDimensionality: fieldOf(tape, 'outputDimensionality', object),
      output_dimensionality: fieldOf(tape, 'output_dimensionality', object),
    },
    at,
  );
  const content = tape.get(object, 'content');
  if (content === none) {
    throw invalid(`${at}content`, 'is missing. Send {"parts":[{"text":"…"}]}');
  }
  const { media, payloadBytes } = mediaOfContent(tape, content, `${at}content`);
  const contentBytes = leafBytes(tape, content, contentNames) - payloadBytes;
  return { textBytes: contentBytes + settingBytes(tape, object), tokens: 0, media };
}

/** The names around every text. Those around media are counted, which changes little. */
const contentNames: readonly string[] = ['parts', 'text', 'role'];

/** No task has a longer name. A longer value counts as text. */
const maxTaskBytes = 64;

/** The bytes outside of the content that may be text: a title, and everything unknown. */
function settingBytes(tape: Tape, object: Value): number {
  let bytes = 0;
  for (const value of tape.members(object)) {
    const name = tape.name(value);
    const length = tape.length(value);
    if (name === 'content' || (settings.has(name) && length <= maxTaskBytes)) continue;
    const isKnown = settings.has(name) || name === 'title';
    bytes += length + (isKnown ? 0 : tape.nameEnd(value) - tape.nameStart(value));
  }
  return bytes;
}

function callOf(
  tape: Tape,
  { modelId = '', operation }: CallTarget,
  inputs: readonly InputSize[],
  otherMemberBytes: number,
): Call {
  const prompt = sizeOfInputs(inputs, otherMemberBytes);
  return newCall(tape, { protocol: 'embeddings', operation, modelId, prompt, maxOutputTokens: 0 });
}

function invalid(param: string, problem: string): GatewayError {
  return invalidRequest(`\`${param}\` ${problem}.`, param);
}
