/**
 * `:generateContent` and `:streamGenerateContent` as Google answers them: one turn, spoken three
 * ways.
 */
import { isJsonObject, items, type JsonObject, type JsonValue, member } from '../../json.ts';
import { type Voice, withFault } from './faults.ts';
import { geminiError, geminiFailure, geminiStreamError } from './gemini-errors.ts';
import { counted, type World } from './provider.ts';
import {
  blockedRatings,
  geminiAfterToolPieces,
  geminiPieces,
  geminiTokens,
  thoughtSignature,
} from './recordings.ts';
import { sampleOf } from './schema-sample.ts';
import { json, type Script, sse } from './scripts.ts';

/**
 * How an answer is framed: as one document, as server-sent events, or as an array written
 * piecemeal.
 */
export type Framing = 'whole' | 'sse' | 'array';

/** What the model says, in the parts it is streamed in. */
interface Turn {
  readonly parts: readonly JsonObject[];
  readonly tokens: readonly [prompt: number, candidates: number, thoughts: number];
  readonly finishMessage?: string;
}

/** The answer to a native request, its model's fault included. */
export function contentScript(
  model: string,
  body: JsonValue | undefined,
  framing: Framing,
  world: World,
): Script {
  const refusal = refuseContents(body);
  if (refusal !== undefined) return refusal;

  const head = { modelVersion: model, responseId: counted('resp', world) };
  const turn = turnFor(body);
  const plain = framing === 'whole' ? [wholeReply(turn, body)] : streamedReplies(turn, body);
  const say = (replies: readonly JsonObject[]): Script =>
    framed(
      framing,
      replies.map((reply) => ({ ...reply, ...head })),
    );

  const voice: Voice = {
    error: geminiFailure,
    streamError: framing === 'array' ? `,\r\n${geminiStreamError}]` : geminiStreamError,
    blocked: () => say([blockedReply()]),
    empty: () => say([{ candidates: [], usageMetadata: usage([9, 0, 0], 1) }]),
    slowMs: world.slowMs,
  };
  return withFault(model, say(plain), voice);
}

/** Google's refusal of a body it can't read contents from, or undefined. */
export function refuseContents(body: JsonValue | undefined): Script | undefined {
  const refuse = (message: string): Script => geminiError(400, 'INVALID_ARGUMENT', message);
  if (!isJsonObject(body)) return refuse('Invalid JSON payload received. Unexpected token.');
  if (member(body, 'messages') !== undefined) {
    return refuse('Invalid JSON payload received. Unknown name "messages": Cannot find field.');
  }
  if (items(member(body, 'contents')).length > 0) return undefined;
  return refuse('* GenerateContentRequest.contents: contents is not specified\n');
}

function turnFor(body: JsonValue | undefined): Turn {
  const lastParts = items(member(items(member(body, 'contents')).at(-1), 'parts'));
  if (lastParts.some((part) => member(part, 'functionResponse') !== undefined)) {
    return { parts: texts(geminiAfterToolPieces), tokens: geminiTokens.afterTool };
  }
  const declaration = chosenFunction(body);
  if (declaration !== undefined) return functionTurn(declaration);

  const config = member(body, 'generationConfig');
  if (member(config, 'responseMimeType') === 'application/json') {
    const schema = member(config, 'responseJsonSchema') ?? member(config, 'responseSchema');
    const text = JSON.stringify(sampleOf(schema ?? { type: 'object' }));
    return { parts: texts([text]), tokens: geminiTokens.structured };
  }
  return { parts: texts(geminiPieces), tokens: geminiTokens.text };
}

function texts(pieces: readonly string[]): readonly JsonObject[] {
  return pieces.map((text) => ({ text }));
}

/** The first function the request allows; none where its mode is NONE. */
function chosenFunction(body: JsonValue | undefined): JsonValue | undefined {
  const calling = member(member(body, 'toolConfig'), 'functionCallingConfig');
  if (member(calling, 'mode') === 'NONE') return undefined;
  const declared = items(member(body, 'tools'))
    .flatMap((tool) => items(member(tool, 'functionDeclarations')))
    .filter((declaration) => typeof member(declaration, 'name') === 'string');
  const allowed = items(member(calling, 'allowedFunctionNames'))[0];
  return declared.find((declaration) => member(declaration, 'name') === allowed) ?? declared[0];
}

function functionTurn(declaration: JsonValue): Turn {
  const schema = member(declaration, 'parametersJsonSchema') ?? member(declaration, 'parameters');
  const args = sampleOf(schema ?? { type: 'object' });
  const functionCall = { name: member(declaration, 'name') ?? '', args };
  return {
    parts: [{ functionCall, thoughtSignature }],
    tokens: geminiTokens.functionCall,
    finishMessage: 'Model generated function call(s).',
  };
}

function wholeReply(turn: Turn, body: JsonValue | undefined): JsonObject {
  const text = turn.parts.map((part) => member(part, 'text') ?? '').join('');
  const parts = text === '' ? turn.parts : [{ text }];
  const { finishMessage } = turn;
  const end = { finishReason: 'STOP', ...(finishMessage === undefined ? {} : { finishMessage }) };
  return { candidates: candidates(parts, body, end), usageMetadata: usage(turn.tokens, 1) };
}

/**
 * One reply a part, each with the usage so far, and a last one that has the end and an empty text.
 */
function streamedReplies(turn: Turn, body: JsonValue | undefined): readonly JsonObject[] {
  const replies = turn.parts.map((part, index) => ({
    candidates: candidates([part], body, {}),
    usageMetadata: usage(turn.tokens, (index + 1) / turn.parts.length),
  }));
  const last = {
    candidates: candidates([{ text: '' }], body, { finishReason: 'STOP' }),
    usageMetadata: usage(turn.tokens, 1),
  };
  return [...replies, last];
}

function candidates(
  parts: readonly JsonObject[],
  body: JsonValue | undefined,
  end: JsonObject,
): readonly JsonObject[] {
  const asked = member(member(body, 'generationConfig'), 'candidateCount');
  const length = typeof asked === 'number' && asked >= 1 && asked <= 8 ? Math.floor(asked) : 1;
  return Array.from({ length }, (_, index) => ({
    content: { parts, role: 'model' },
    ...end,
    index,
  }));
}

function blockedReply(): JsonObject {
  return {
    promptFeedback: { blockReason: 'SAFETY', safetyRatings: blockedRatings },
    usageMetadata: usage([9, 0, 0], 1),
  };
}

/**
 * Figures when `share` of the candidate's tokens were made; what is zero is left out, as Google
 * does.
 */
function usage([prompt, total, thoughts]: Turn['tokens'], share: number): JsonObject {
  const made = Math.round(total * share);
  return {
    promptTokenCount: prompt,
    ...(made > 0 ? { candidatesTokenCount: made } : {}),
    totalTokenCount: prompt + made + thoughts,
    promptTokensDetails: [{ modality: 'TEXT', tokenCount: prompt }],
    ...(thoughts > 0 ? { thoughtsTokenCount: thoughts } : {}),
  };
}

function framed(framing: Framing, replies: readonly JsonObject[]): Script {
  if (framing === 'sse') return sse(replies, '\r\n');
  if (framing === 'whole') return json(200, replies[0] ?? {});
  const written = replies.map((reply) => JSON.stringify(reply, null, 2));
  return {
    headers: { 'content-type': 'application/json' },
    chunks: [...written.map((text, index) => `${index === 0 ? '[' : ',\r\n'}${text}\n`), ']'],
  };
}
