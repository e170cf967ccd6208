/** Finds the members of a whole Gemini reply that the common form loses. */
import { isJsonObject, items, type JsonObject, type JsonValue, member } from '../../../json.ts';
import { read, reads, type Shape, unreadOfReply } from '../../unread.ts';

/** The paths begin with `reply.`. A reply may consist of several documents. */
export function unreadMembers(reply: JsonValue): readonly string[] {
  const documents = Array.isArray(reply) ? items(reply) : [reply];
  return documents.flatMap((document) => unreadOfReply(document, response));
}

const call: Shape = { id: read, name: read, args: read, partialArgs: read, willContinue: read };
const media: Shape = { mimeType: read, data: read };

/** Checks in the part reader's order. A part of an unknown kind is passed on unchanged. */
function partShape(part: JsonObject): Shape | typeof read {
  const has = (name: string): boolean => isJsonObject(member(part, name));
  const isThought = member(part, 'thought') === true;
  const marks: Shape = { thought: read, thoughtSignature: read };
  if (has('functionCall')) return { ...marks, functionCall: call };
  if (has('inlineData') && !isThought) {
    // Audio in the chat API can't carry a signature.
    const isAudio = String(member(member(part, 'inlineData'), 'mimeType')).startsWith('audio/');
    return isAudio ? { inlineData: media } : { ...marks, inlineData: media };
  }
  if (has('executableCode')) return { executableCode: { code: read, language: read } };
  if (typeof member(member(part, 'codeExecutionResult'), 'output') === 'string') {
    return { codeExecutionResult: { outcome: read, output: read } };
  }
  const isText = typeof member(part, 'text') === 'string' || isThought;
  return isText ? { ...marks, text: read } : read;
}

const token: Shape = { token: read, logProbability: read };

/** Dropped on purpose: safety ratings of unblocked content, average logprob, token count. */
const candidate: Shape = {
  index: read,
  content: { role: read, parts: partShape },
  ...reads('finishReason', 'finishMessage', 'safetyRatings', 'groundingMetadata'),
  ...reads('citationMetadata', 'urlContextMetadata'),
  logprobsResult: { chosenCandidates: token, topCandidates: { candidates: token } },
  ...reads('avgLogprobs', 'tokenCount'),
};

/** Details for billing the host's account. Callers get the totals. */
const usage: Shape = {
  ...reads('promptTokenCount', 'promptTokensDetails', 'toolUsePromptTokenCount'),
  ...reads('toolUsePromptTokensDetails', 'cachedContentTokenCount', 'cacheTokensDetails'),
  ...reads('candidatesTokenCount', 'candidatesTokensDetails', 'thoughtsTokenCount'),
  ...reads('totalTokenCount', 'trafficType', 'serviceTier'),
};

const response: Shape = {
  candidates: candidate,
  promptFeedback: { blockReason: read, blockReasonMessage: read },
  usageMetadata: usage,
  ...reads('modelVersion', 'responseId', 'createTime'),
};
