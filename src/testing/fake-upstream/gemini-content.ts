/**
 * `:generateContent` and `:streamGenerateContent` as Google answers them: one turn, spoken three
 * ways.
 */
import { isJsonObject, items, type JsonObject, type JsonValue, member } from '../../json.ts';
import { agentOf } from './agent.ts';
import { bigImageBytes } from './big-base64.ts';
import { type Voice, withFault } from './faults.ts';
import { geminiError, geminiFailure, geminiStreamError } from './gemini-errors.ts';
import { bigImageScript, imagePart, wantsImage } from './gemini-images.ts';
import { unknownName } from './gemini-members.ts';
import { callSeal, refusedConversation, roundsMade } from './gemini-rules.ts';
import { counted, type World } from './provider.ts';
import {
  blockedRatings,
  geminiAfterToolPieces,
  geminiPieces,
  geminiThoughtPieces,
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
  const refusal = refuseContents(body, model);
  if (refusal !== undefined) return refusal;

  const head = { modelVersion: model, responseId: counted('resp', world) };
  const bigBytes = bigImageBytes(model);
  if (bigBytes !== undefined && wantsImage(body)) return bigImageScript(bigBytes, head);
  const turn = turnFor(body, model, world);
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
export function refuseContents(
  body: JsonValue | undefined,
  model: string,
  kind: 'request' | 'count' = 'request',
): Script | undefined {
  const refuse = (message: string): Script => geminiError(400, 'INVALID_ARGUMENT', message);
  if (!isJsonObject(body)) return refuse('Invalid JSON payload received. Unexpected token.');
  // Of a model that only a test knows, a test may want to see go up what it likes.
  const isStrict = model.startsWith('gemini') || member(body, 'messages') !== undefined;
  const unknown = isStrict ? unknownName(body, kind) : undefined;
  if (unknown !== undefined) return refuse(unknown);
  const request = member(body, 'generateContentRequest') ?? body;
  if (items(member(request, 'contents')).length === 0) {
    return refuse('* GenerateContentRequest.contents: contents is not specified\n');
  }
  const refused = refusedConversation(request, model);
  return refused === undefined ? undefined : refuse(refused);
}

function turnFor(body: JsonValue | undefined, model: string, world: World): Turn {
  const agent = agentOf(model);
  const before = thoughts(body);
  const made = roundsMade(body);
  if (made >= agent.rounds) {
    const parts = [...before, ...texts(geminiAfterToolPieces)];
    return { parts, tokens: geminiTokens.afterTool };
  }
  const declarations = chosenFunctions(body).slice(0, agent.callsAtOnce ?? 1);
  if (declarations.length > 0) {
    const turn = functionTurn(declarations, model, world);
    return { ...turn, parts: [...before, ...turn.parts] };
  }
  if (wantsImage(body)) return { parts: [imagePart(body)], tokens: geminiTokens.image };

  const config = member(body, 'generationConfig');
  if (member(config, 'responseMimeType') === 'application/json') {
    const schema = member(config, 'responseJsonSchema') ?? member(config, 'responseSchema');
    const text = JSON.stringify(sampleOf(schema ?? { type: 'object' }));
    return { parts: [...before, ...texts([text])], tokens: geminiTokens.structured };
  }
  return { parts: [...before, ...texts(geminiPieces)], tokens: geminiTokens.text };
}

/** Shown only to those who ask. */
function thoughts(body: JsonValue | undefined): readonly JsonObject[] {
  const thinking = member(member(body, 'generationConfig'), 'thinkingConfig');
  if (member(thinking, 'includeThoughts') !== true) return [];
  return geminiThoughtPieces.map((text) => ({ text, thought: true }));
}

function texts(pieces: readonly string[]): readonly JsonObject[] {
  return pieces.map((text) => ({ text }));
}

/** The functions the request allows; none where its mode is NONE. */
function chosenFunctions(body: JsonValue | undefined): readonly JsonValue[] {
  const calling = member(member(body, 'toolConfig'), 'functionCallingConfig');
  if (member(calling, 'mode') === 'NONE') return [];
  const declared = items(member(body, 'tools'))
    .flatMap((tool) => items(member(tool, 'functionDeclarations')))
    .filter((declaration) => typeof member(declaration, 'name') === 'string');
  const allowed = items(member(calling, 'allowedFunctionNames'));
  const chosen = declared.filter((declaration) =>
    allowed.some((name) => name === member(declaration, 'name')),
  );
  return chosen.length > 0 ? chosen : declared;
}

/**
 * The calls, of which the first is signed. The agents among Gemini 3 give their calls ids; all
 * others leave it to names and order.
 */
function functionTurn(declarations: readonly JsonValue[], model: string, world: World): Turn {
  const { isSealed } = agentOf(model);
  const hasIds = isSealed && model.includes('gemini-3');
  const parts = declarations.map((declaration, index): JsonObject => {
    const schema = member(declaration, 'parametersJsonSchema') ?? member(declaration, 'parameters');
    const args = sampleOf(schema ?? { type: 'object' });
    const call = { name: member(declaration, 'name') ?? '', args };
    const functionCall = hasIds ? { id: counted('call', world), ...call } : call;
    if (index > 0) return { functionCall };
    return { functionCall, thoughtSignature: isSealed ? callSeal(call) : thoughtSignature };
  });
  return {
    parts,
    tokens: geminiTokens.functionCall,
    finishMessage: 'Model generated function call(s).',
  };
}

/** Whole answers have the pieces of one text in one part. */
function wholeReply(turn: Turn, body: JsonValue | undefined): JsonObject {
  const { finishMessage } = turn;
  const end = { finishReason: 'STOP', ...(finishMessage === undefined ? {} : { finishMessage }) };
  const parts = joinedTexts(turn.parts);
  return { candidates: candidates(parts, body, end), usageMetadata: usage(turn.tokens, 1) };
}

function joinedTexts(parts: readonly JsonObject[]): readonly JsonObject[] {
  const joined: JsonObject[] = [];
  for (const part of parts) {
    const last = joined.at(-1);
    const isMore = isText(part) && isText(last) && member(part, 'thought') === last?.thought;
    if (isMore) joined.splice(-1, 1, { ...last, text: `${last?.text}${member(part, 'text')}` });
    else joined.push(part);
  }
  return joined;
}

function isText(part: JsonObject | undefined): boolean {
  return typeof member(part, 'text') === 'string';
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
