/** `POST /v1beta/models/{model}:generateContent` and its siblings: the native (Gemini) protocol. */

import { apiCalls, operations } from '../../apis.ts';
import type { MemberEdit } from '../../bytes/body/splice.ts';
import { none, root } from '../../bytes/json/tape.ts';
import type { Call } from '../../call.ts';
import { envelopePrefixes } from '../../canonical/envelope.ts';
import { quoted } from '../../canonical/raw-json.ts';
import { geminiArrayTap } from '../../dialects/gemini/array-tap.ts';
import { geminiImageCounter } from '../../dialects/gemini/count-images.ts';
import { geminiInBandFailure, isGeminiReply } from '../../dialects/gemini/errors.ts';
import { placeholderSignature } from '../../dialects/gemini/placeholder-signature.ts';
import { resourceName } from '../../dialects/gemini/resource.ts';
import { geminiStreamTap } from '../../dialects/gemini/stream-tap.ts';
import { geminiUsage, usageOfMetadata } from '../../dialects/gemini/usage.ts';
import { documentTap } from '../../dialects/taps/document-tap.ts';
import { member } from '../../json.ts';
import { geminiCaller } from '../callers/gemini.ts';
import { inEverySpelling, mayHoldEnvelope } from '../envelope-marks.ts';
import type { Protocol, RelayRules } from '../protocol.ts';
import { editInside } from '../rules.ts';
import { readNative } from './read.ts';

const nativeRelay: RelayRules = {
  edits: (call, upstreamModel) => [
    ...(call.modelId === upstreamModel ? [] : modelEdits(call, resourceName(upstreamModel))),
    ...withoutForeignSignatures(call),
  ],
  tap: (call) => {
    if (call.framing === 'sse') return geminiStreamTap(call.demand.candidates);
    if (call.framing === 'json_array') return geminiArrayTap();
    return documentTap({
      usageMember: 'usageMetadata',
      readUsage: usageOfMetadata,
      inBandFailure: geminiInBandFailure,
      isImageReply: false,
    });
  },
  invalidReplyReason: (reply, { operation }) => {
    const isCount = operation === operations.count_tokens;
    const isReply = isCount
      ? typeof member(reply, 'totalTokens') === 'number'
      : isGeminiReply(reply);
    return isReply ? undefined : 'upstream_protocol_error';
  },
  readUsage: (reply, _channel, counted) => geminiUsage(reply, counted),
};

/** The path decides; if the body names the model too, it must be the same name upstream. */
function modelEdits(call: Call, resource: string): readonly MemberEdit[] {
  const edit = { name: 'model', value: quoted(resource) };
  const named = call.tape.get(root, 'model') !== none;
  // `countTokens` may wrap the request, with its model.
  const wrapped = editInside(call, 'generateContentRequest', edit);
  return [...(named ? [edit] : []), ...(wrapped === undefined ? [] : [wrapped])];
}

/**
 * Replaces the signatures of other providers, which travel in an envelope that Google would refuse,
 * by a placeholder that Google accepts.
 */
function withoutForeignSignatures({ tape }: Call): readonly MemberEdit[] {
  const contents = tape.get(root, 'contents');
  if (contents === none || !mayHoldEnvelope(tape.bytes)) return [];
  const text = tape.raw(contents).toString('utf8');
  const value = text.replace(envelope, (_, name) => `${name}"${placeholderSignature}"`);
  return [{ name: 'contents', value }];
}

const signatureNames = ['thoughtSignature', 'thought_signature'].map(inEverySpelling).join('|');
const prefixes = envelopePrefixes.map(inEverySpelling).join('|');
const envelope = new RegExp(`("(?:${signatureNames})"\\s*:\\s*)"(?:${prefixes})[^"]*"`, 'g');

export const native: Protocol = {
  name: 'native',
  caller: geminiCaller,
  dialect: 'gemini',
  ...apiCalls.native,
  maxBodyBytes: ({ maxBodyBytes }) => maxBodyBytes,
  // Google's clients don't send this header, and other clients of its streams have no use for it.
  takesIdempotencyKey: false,
  outputLimits: ['generationConfig.maxOutputTokens'],
  candidates: {
    member: 'generationConfig.candidateCount',
    maximum: Number.POSITIVE_INFINITY,
  },
  read: readNative,
  relay: nativeRelay,
  codecs: async () => ({
    content: (await import('../../dialects/gemini/server/codec.ts')).geminiServer,
    countTokens: { member: 'totalTokens', write: (count) => `{"totalTokens":${count}}` },
  }),
  imageCounter: geminiImageCounter,
  // A comment would end the stream for Google's older clients; all of them skip leading line ends.
  keepAlive: (framing, isFirst) => (isFirst && framing !== 'json' ? '\r\n' : undefined),
};
