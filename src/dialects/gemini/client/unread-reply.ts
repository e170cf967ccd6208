/** What a whole reply of Gemini's holds that no event says. */
import { isJsonObject, items, type JsonObject, type JsonValue, member } from '../../../json.ts';
import { allRead, read, type Shape, unreadOfReply } from '../../unread.ts';

/** The members that are lost, as `reply.` and their path; a reply may come as several documents. */
export function unreadMembers(reply: JsonValue): readonly string[] {
  const documents = Array.isArray(reply) ? items(reply) : [reply];
  return documents.flatMap((document) => unreadOfReply(document, response));
}

const call: Shape = { id: read, name: read, args: read, partialArgs: read, willContinue: read };
const media: Shape = { mimeType: read, data: read };

/** By what the reader of parts takes first; a part of another kind is passed on unchanged. */
function partShape(part: JsonObject): Shape {
  const has = (name: string): boolean => isJsonObject(member(part, name));
  const isThought = member(part, 'thought') === true;
  const marks: Shape = { thought: read, thoughtSignature: read };
  if (has('functionCall')) return { ...marks, functionCall: call };
  if (has('inlineData') && !isThought) {
    // A sound of the chat API has no place for a signature.
    const isSound = String(member(member(part, 'inlineData'), 'mimeType')).startsWith('audio/');
    return isSound ? { inlineData: media } : { ...marks, inlineData: media };
  }
  if (has('executableCode')) return { executableCode: { code: read, language: read } };
  if (typeof member(member(part, 'codeExecutionResult'), 'output') === 'string') {
    return { codeExecutionResult: { outcome: read, output: read } };
  }
  const isText = typeof member(part, 'text') === 'string' || isThought;
  return isText ? { ...marks, text: read } : allRead(part);
}

const token: Shape = { token: read, logProbability: read };

/**
 * Ratings of what was not blocked are left out, as is the mean of the probabilities and the count
 * of one candidate's tokens.
 */
const candidate: Shape = {
  index: read,
  content: { role: read, parts: partShape },
  finishReason: read,
  finishMessage: read,
  safetyRatings: read,
  groundingMetadata: read,
  citationMetadata: read,
  urlContextMetadata: read,
  logprobsResult: { chosenCandidates: token, topCandidates: { candidates: token } },
  avgLogprobs: read,
  tokenCount: read,
};

/** The bill of the host's account: callers get the sums. */
const usage: Shape = {
  promptTokenCount: read,
  promptTokensDetails: read,
  toolUsePromptTokenCount: read,
  toolUsePromptTokensDetails: read,
  cachedContentTokenCount: read,
  cacheTokensDetails: read,
  candidatesTokenCount: read,
  candidatesTokensDetails: read,
  thoughtsTokenCount: read,
  totalTokenCount: read,
  trafficType: read,
  serviceTier: read,
};

const response: Shape = {
  candidates: candidate,
  promptFeedback: { blockReason: read, blockReasonMessage: read },
  usageMetadata: usage,
  modelVersion: read,
  responseId: read,
  createTime: read,
};
