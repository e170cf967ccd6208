/** The call of an embedding request, of whatever shape: inputs without any output. */

import { operations } from '../apis.ts';
import type { Tape } from '../bytes/json/tape.ts';
import type { Call, GuardedUse, PromptSize } from '../call.ts';

export function embeddingCall(
  tape: Tape,
  modelId: string,
  prompt: PromptSize,
  guarded: readonly GuardedUse[],
): Call {
  return {
    protocol: 'embeddings',
    operation: operations.embed,
    modelId,
    framing: 'json',
    body: tape.body,
    tape,
    promptCacheKey: undefined,
    wantsUsage: true,
    demand: {
      prompt,
      predictedBytes: 0,
      maxOutputTokens: 0,
      candidates: 1,
      size: undefined,
      quality: undefined,
      guarded,
    },
  };
}
