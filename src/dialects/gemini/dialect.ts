/** Google's native wire format: `generateContent`, its stream, and `countTokens`. */
import { findMember } from '../../bytes/members.ts';
import type { MemberEdit } from '../../bytes/splice.ts';
import type { Call } from '../../call.ts';
import type { Dialect } from '../dialect.ts';
import { documentTap } from '../document-tap.ts';
import { editInside } from '../edit-inside.ts';
import { geminiArrayTap } from './array-tap.ts';
import { geminiErrorText, geminiFailure, geminiInBandFailure } from './errors.ts';
import { geminiStreamTap } from './stream-tap.ts';
import { geminiFigures, geminiUsage } from './usage.ts';

/** The row of `table.ts`. */
export const gemini: Dialect = {
  name: 'gemini',
  errors: { body: (error) => Buffer.from(geminiErrorText(error)) },
  path: (call, upstreamModel) => `/${resourceOf(upstreamModel)}:${methodOf(call)}`,
  credential: (secret) => ({ 'x-goog-api-key': secret }),
  edits: (call, upstreamModel) =>
    call.modelId === upstreamModel ? [] : modelEdits(call, resourceName(upstreamModel)),
  tap: (call) => {
    if (call.framing === 'sse') return geminiStreamTap();
    if (call.framing === 'json_array') return geminiArrayTap();
    return documentTap({
      usageMember: 'usageMetadata',
      readUsage: geminiFigures,
      inBandFailure: geminiInBandFailure,
      isImages: false,
    });
  },
  readUsage: geminiUsage,
  readFailure: geminiFailure,
  inBandFailure: geminiInBandFailure,
};

/** The path decides; a body that names the model must name the same one upstream. */
function modelEdits(call: Call, resource: string): readonly MemberEdit[] {
  const edit = { name: 'model', value: JSON.stringify(resource) };
  const named = findMember(call.members, 'model') !== undefined;
  // `countTokens` may wrap the request that is to be counted, its model included.
  const wrapped = editInside(call, 'generateContentRequest', edit);
  return [...(named ? [edit] : []), ...(wrapped === undefined ? [] : [wrapped])];
}

function methodOf(call: Call): string {
  if (call.operation === 'count_tokens') return 'countTokens';
  switch (call.framing) {
    case 'json':
      return 'generateContent';
    case 'sse':
      return 'streamGenerateContent?alt=sse';
    case 'json_array':
      return 'streamGenerateContent';
  }
}

/** `models/x` for a bare name; `tunedModels/x` and `publishers/…/x` are resources already. */
function resourceName(upstreamModel: string): string {
  return /^(?:models|tunedModels|publishers)\//.test(upstreamModel)
    ? upstreamModel
    : `models/${upstreamModel}`;
}

/** Encoded segment by segment, so that a configured name can't leave its place in the path. */
function resourceOf(upstreamModel: string): string {
  return resourceName(upstreamModel).split('/').map(encodeURIComponent).join('/');
}
