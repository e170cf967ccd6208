/** The edits and checks of a relayed native embedding call: all names of the model are edited. */

import { originalBytes } from '../../bytes/body/body.ts';
import type { MemberEdit } from '../../bytes/body/splice.ts';
import { findMember, membersOf, valueAt } from '../../bytes/json/read/members.ts';
import { skipValue } from '../../bytes/json/read/skip.ts';
import type { Member, Span } from '../../bytes/json/scan/scan.ts';
import type { Call } from '../../call.ts';
import { quoted } from '../../canonical/raw-json.ts';
import { embeddingTap } from '../../dialects/embedding-tap.ts';
import { geminiEmbeddingUsage } from '../../dialects/embedding-usage.ts';
import { geminiInBandFailure } from '../../dialects/gemini/errors.ts';
import { resourceName, resourcePath } from '../../dialects/gemini/resource.ts';
import { eachElement } from '../../dialects/prompt-size.ts';
import type { FailureReason } from '../../failure-reasons.ts';
import { isJsonObject, items, type JsonValue, member } from '../../json.ts';
import type { RelayRules } from '../protocol.ts';
import { countRemark } from '../vector-count.ts';

const readUsage: RelayRules['readUsage'] = (reply) =>
  geminiEmbeddingUsage(member(reply, 'usageMetadata'));

const tapOptions = {
  usageMember: 'usageMetadata',
  readUsage: geminiEmbeddingUsage,
  inBandFailure: geminiInBandFailure,
} as const;

/** The rules for `:embedContent`. Calls of other dialects use the method for batches. */
export const embedContentRelay: RelayRules = {
  readUsage,
  tap: () => embeddingTap({ ...tapOptions, vectorsMember: undefined, remarkOn: () => undefined }),
  remarks: () => ({ reason: undefined, notes: {} }),
  paths: { embed: (upstreamModel) => `/${resourcePath(upstreamModel)}:embedContent` },
  edits: ({ modelId, body, members }, upstreamModel) =>
    modelId === upstreamModel ? [] : modelEdits(body.text, members, upstreamModel),
  invalidReplyReason: (reply) => reasonUnless(isJsonObject(member(reply, 'embedding') ?? null)),
};

/** The rules for `:batchEmbedContents`. */
export const batchEmbedContentsRelay: RelayRules = {
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
      : [
          ...modelEdits(call.body.text, call.members, upstreamModel),
          ...requestEdits(call, upstreamModel),
        ],
  invalidReplyReason: (reply) => reasonUnless(Array.isArray(member(reply, 'embeddings'))),
};

function reasonUnless(isReply: boolean): FailureReason | undefined {
  return isReply ? undefined : 'upstream_protocol_error';
}

/** The path decides; if the body names the model too, it must be the same name upstream. */
function modelEdits(
  text: Buffer,
  members: readonly Member[],
  upstreamModel: string,
): readonly MemberEdit[] {
  const named = findMember(members, 'model');
  if (named === undefined) return [];
  return [{ name: 'model', value: renamed(valueAt(text, named.value), upstreamModel) }];
}

/** The model's name as the caller wrote it, with or without `models/`. */
function renamed(name: JsonValue, upstreamModel: string): string {
  const hasPrefix = typeof name === 'string' && name.startsWith('models/');
  return quoted(hasPrefix ? resourceName(upstreamModel) : upstreamModel);
}

/** Every request of a batch may name the model. All other bytes are kept. */
function requestEdits({ body, members }: Call, upstreamModel: string): readonly MemberEdit[] {
  const requests = findMember(members, 'requests');
  if (requests === undefined) return [];
  const pieces: string[] = [];
  let from = requests.value.start;
  const copyTo = (end: number): void => {
    pieces.push(originalBytes(body, from, end).toString('utf8'));
  };
  for (const { start, end } of namesIn(body.text, requests.value)) {
    copyTo(start);
    pieces.push(renamed(valueAt(body.text, { start, end }), upstreamModel));
    from = end;
  }
  if (pieces.length === 0) return [];
  copyTo(requests.value.end);
  return [{ name: 'requests', value: pieces.join('') }];
}

/** The spans of the models' names in the requests of a batch, in order. */
function namesIn(text: Buffer, requests: Span): readonly Span[] {
  const names: Span[] = [];
  eachElement(text, requests.start, (start) => {
    const end = skipValue(text, start);
    const named = findMember(membersOf(text, { start, end }), 'model');
    if (named !== undefined) names.push(named.value);
    return end;
  });
  return names;
}
