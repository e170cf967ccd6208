/** The codec for Gemini as an upstream of callers with other dialects. */
import { withoutCustomTools } from '../../../canonical/custom-tools.ts';
import { type FunctionNames, functionNames } from '../../../canonical/function-names.ts';
import { type JsonNode, jsonText } from '../../../canonical/raw-json.ts';
import { type ContentRequest, namesOfFunctions } from '../../../canonical/request.ts';
import { isJsonObject, items, type JsonObject, type JsonValue, member } from '../../../json.ts';
import type { ContentClientCodec, TokenCounter, UpstreamTarget } from '../../codec.ts';
import type { DialectCodecs } from '../../dialect.ts';
import { read, reads, type Shape, unreadOfReply } from '../../unread.ts';
import { countIn } from '../../usage/usage-counts.ts';
import { geminiEmbeddings } from '../embedding-client.ts';
import { geminiImages } from '../image/codec.ts';
import { measureGemini } from '../prompt-size.ts';
import { resourceName } from '../resource.ts';
import { readReply } from './read-reply.ts';
import { type ReadContext, readStream } from './read-stream.ts';
import { type Members, unlessEmpty } from './write-context.ts';
import { writeRequest } from './write-request.ts';

export const geminiClient: ContentClientCodec = {
  begin: (request, target) => {
    const { members, dropped, names } = written(request, target);
    const context: ReadContext = { ids: target.ids, callerName: names.caller };
    return {
      body: jsonText(members),
      dropped,
      unread: unreadMembers,
      readReply: (reply) => readReply(reply, context),
      readStream: () => readStream(context),
    };
  },
};

/** The codec for `countTokens`: it gets the members of a request that are part of its prompt. */
export const geminiTokenCounter: TokenCounter = {
  body: (request, target) => {
    const { members, dropped } = written(request, target);
    const { contents, systemInstruction, tools, toolConfig, cachedContent } = members;
    const model = resourceName(target.upstreamModel);
    const generationConfig = outputFormat(members.generationConfig);
    const prompt = { model, contents, systemInstruction, tools, toolConfig, cachedContent };
    const generateContentRequest = { ...prompt, generationConfig };
    return { text: jsonText({ generateContentRequest }), dropped };
  },
  // Every request has tokens, and a client that trusts a 0 lets its context overflow.
  read: (reply) => countIn(reply, 'totalTokens') || undefined,
};

/** The members of `generationConfig` that the model reads: the schema of the reply is prompt. */
function outputFormat(config: JsonNode): Members | undefined {
  return unlessEmpty({
    responseMimeType: member(config, 'responseMimeType'),
    responseSchema: member(config, 'responseSchema'),
    responseJsonSchema: member(config, 'responseJsonSchema'),
  });
}

function written(
  sent: ContentRequest,
  { capabilities }: UpstreamTarget,
): {
  readonly members: Readonly<Record<string, JsonNode>>;
  readonly dropped: readonly string[];
  readonly names: FunctionNames;
} {
  const request = withoutCustomTools(sent);
  const names = namesOf(request);
  const dropped = new Set(request.dropped);
  const drop = (name: string): void => {
    dropped.add(name);
  };
  const members = writeRequest({ request, capabilities, names, drop });
  return { members, dropped: [...dropped], names };
}

const rule = { pattern: /^[a-zA-Z_][a-zA-Z0-9_.:-]{0,127}$/, maxLength: 128 } as const;

function namesOf(request: ContentRequest): FunctionNames {
  const results = request.turns.flatMap(({ parts }) =>
    parts.flatMap((part) => (part.kind === 'tool_result' ? (part.name ?? []) : [])),
  );
  const chosen = request.toolChoice?.names ?? [];
  return functionNames([...namesOfFunctions(request), ...chosen, ...results], rule);
}

/** The paths begin with `reply.`. A reply may consist of several documents. */
function unreadMembers(reply: JsonValue): readonly string[] {
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

/** Dropped on purpose: safety ratings of unblocked content, average logprob, score, token count. */
const candidate: Shape = {
  index: read,
  content: { role: read, parts: partShape },
  ...reads('finishReason', 'finishMessage', 'safetyRatings', 'groundingMetadata'),
  ...reads('citationMetadata', 'urlContextMetadata'),
  logprobsResult: { chosenCandidates: token, topCandidates: { candidates: token } },
  ...reads('avgLogprobs', 'score', 'tokenCount'),
};

/** Details for billing the host's account. Callers get the totals. */
const usage: Shape = {
  ...reads('promptTokenCount', 'promptTokensDetails', 'toolUsePromptTokenCount'),
  ...reads('toolUsePromptTokensDetails', 'cachedContentTokenCount', 'cacheTokensDetails'),
  ...reads('candidatesTokenCount', 'candidatesTokensDetails', 'thoughtsTokenCount'),
  ...reads('totalTokenCount', 'trafficType', 'serviceTier', 'billablePromptUsage'),
};

const response: Shape = {
  candidates: candidate,
  promptFeedback: { blockReason: read, blockReasonMessage: read },
  usageMetadata: usage,
  ...reads('modelVersion', 'responseId', 'createTime'),
};

export const codecs: DialectCodecs = {
  content: geminiClient,
  images: geminiImages,
  embeddings: geminiEmbeddings,
  measure: measureGemini,
  tokenCounter: geminiTokenCounter,
};
