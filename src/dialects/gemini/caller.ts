/** Google's native wire format as its SDKs speak it to us: relayed to Gemini upstreams. */

import { bytesOf } from '../../bytes/body.ts';
import { findMember } from '../../bytes/members.ts';
import type { MemberEdit } from '../../bytes/splice.ts';
import type { Call } from '../../call.ts';
import { envelopeBeginning } from '../../canonical/opaque.ts';
import { quoted } from '../../canonical/raw-json.ts';
import type { CallerDialect } from '../dialect.ts';
import { documentTap } from '../document-tap.ts';
import { editInside } from '../edit-inside.ts';
import { geminiArrayTap } from './array-tap.ts';
import { geminiImageCounter } from './count-images.ts';
import { geminiErrorText, geminiInBandFailure, isGeminiReply } from './errors.ts';
import { placeholderSignature } from './placeholder-signature.ts';
import { resourceName } from './resource.ts';
import { geminiServer, geminiTokenCountText } from './server/codec.ts';
import { geminiStreamTap } from './stream-tap.ts';
import { geminiFigures, geminiUsage } from './usage.ts';

/** The row of `table.ts`. */
export const geminiCaller: CallerDialect = {
  name: 'gemini',
  errors: { body: (error) => Buffer.from(geminiErrorText(error)) },
  edits: (call, upstreamModel) => [
    ...(call.modelId === upstreamModel ? [] : modelEdits(call, resourceName(upstreamModel))),
    ...withoutForeignSignatures(call),
  ],
  tap: (call) => {
    if (call.framing === 'sse') return geminiStreamTap(call.demand.candidates);
    if (call.framing === 'json_array') return geminiArrayTap();
    return documentTap({
      usageMember: 'usageMetadata',
      readUsage: geminiFigures,
      inBandFailure: geminiInBandFailure,
      isImages: false,
    });
  },
  isReply: isGeminiReply,
  // A comment ends the stream of Google's older clients; all of them read over leading line ends.
  keepAlive: (framing, isFirst) => (isFirst && framing !== 'json' ? '\r\n' : undefined),
  readUsage: geminiUsage,
  content: geminiServer,
  readImageRequest: undefined,
  imageCounter: geminiImageCounter,
  tokenCountText: geminiTokenCountText,
};

/** The path decides; a body that names the model must name the same one upstream. */
function modelEdits(call: Call, resource: string): readonly MemberEdit[] {
  const edit = { name: 'model', value: quoted(resource) };
  const named = findMember(call.members, 'model') !== undefined;
  // `countTokens` may wrap the request that is to be counted, its model included.
  const wrapped = editInside(call, 'generateContentRequest', edit);
  return [...(named ? [edit] : []), ...(wrapped === undefined ? [] : [wrapped])];
}

/**
 * An earlier answer may have come from another provider: its signatures travelled in our envelope,
 * which Google would refuse. It gets what it takes in place of a signature it never made.
 */
function withoutForeignSignatures({ body, members }: Call): readonly MemberEdit[] {
  const contents = findMember(members, 'contents');
  if (contents === undefined || !body.text.includes(`"${envelopeBeginning}`)) return [];
  const text = bytesOf(body, contents.value.start, contents.value.end).toString('utf8');
  const value = text.replace(envelope, (_, name) => `${name}"${placeholderSignature}"`);
  return [{ name: 'contents', value }];
}

const envelope = new RegExp(
  `("thought(?:Signature|_signature)"\\s*:\\s*)"${envelopeBeginning}[^"]*"`,
  'g',
);
