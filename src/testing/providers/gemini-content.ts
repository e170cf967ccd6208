/**
 * `:generateContent` and `:streamGenerateContent` as Google replies to them: one turn in one of
 * three framings, or a refusal as google.rpc.Status.
 */
import { isJsonObject, items, type JsonObject, type JsonValue, member } from '../../json.ts';
import {
  agentOf,
  counted,
  type FaultReplies,
  type ReplyContext,
  signatureOf,
  withFault,
} from './provider.ts';
import {
  blockedRatings,
  geminiAfterToolPieces,
  geminiPieces,
  geminiThoughtPieces,
  geminiTokens,
  thoughtSignature,
} from './recordings.ts';
import { gradientPng, sampleOf } from './samples.ts';
import { json, type Script, type ScriptHeaders, sse } from './scripts.ts';

type Framing = 'whole' | 'sse' | 'array';

interface Turn {
  readonly parts: readonly JsonObject[];
  readonly tokens: readonly [prompt: number, candidates: number, thoughts: number];
  readonly finishMessage?: string;
}

export function contentScript(
  model: string,
  body: JsonValue | undefined,
  framing: Framing,
  context: ReplyContext,
): Script {
  const refusal = refuseContents(body);
  if (refusal !== undefined) return refusal;

  const head = { modelVersion: model, responseId: counted('resp', context) };
  const turn = turnFor(body, model, context);
  const plain = framing === 'whole' ? [wholeReply(turn, body)] : streamedReplies(turn, body);
  const say = (replies: readonly JsonObject[]): Script =>
    framed(
      framing,
      replies.map((reply) => ({ ...reply, ...head })),
    );

  const faultReplies: FaultReplies = {
    error: geminiFailure,
    streamError: framing === 'array' ? `,\r\n${geminiStreamError}]` : geminiStreamError,
    blocked: () => say([blockedReply()]),
    empty: () => say([{ candidates: [], usageMetadata: usage([9, 0, 0], 1) }]),
    slowMs: context.slowMs,
  };
  return withFault(model, say(plain), faultReplies);
}

export function refuseContents(body: JsonValue | undefined): Script | undefined {
  const refuse = (message: string): Script => geminiError(400, 'INVALID_ARGUMENT', message);
  if (!isJsonObject(body)) return refuse('Invalid JSON payload received. Unexpected token.');
  const request = member(body, 'generateContentRequest') ?? body;
  return items(member(request, 'contents')).length > 0
    ? undefined
    : refuse('* GenerateContentRequest.contents: contents is not specified\n');
}

function turnFor(body: JsonValue | undefined, model: string, context: ReplyContext): Turn {
  const agent = agentOf(model);
  const before = thoughts(body);
  const turns = currentTurn(turnsOf(body));
  const rounds = turns.filter(({ parts }) => callsIn(parts).length > 0).length;
  if (rounds >= agent.rounds) {
    const parts = [...before, ...texts(geminiAfterToolPieces)];
    return { parts, tokens: geminiTokens.afterTool };
  }
  const declarations = chosenFunctions(body).slice(0, agent.callsAtOnce ?? 1);
  if (declarations.length > 0) {
    const turn = functionTurn(declarations, model, context);
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

/** Thoughts are included only on request. */
function thoughts(body: JsonValue | undefined): readonly JsonObject[] {
  const thinking = member(member(body, 'generationConfig'), 'thinkingConfig');
  if (member(thinking, 'includeThoughts') !== true) return [];
  return geminiThoughtPieces.map((text) => ({ text, thought: true }));
}

function texts(pieces: readonly string[]): readonly JsonObject[] {
  return pieces.map((text) => ({ text }));
}

/** The functions that the request allows; none where its mode is NONE. */
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
 * The calls, of which the first is signed. Agents of Gemini 3 give their calls ids; all others
 * identify calls by name and order.
 */
function functionTurn(
  declarations: readonly JsonValue[],
  model: string,
  context: ReplyContext,
): Turn {
  const { signsEachRound } = agentOf(model);
  const hasIds = signsEachRound && model.includes('gemini-3');
  const parts = declarations.map((declaration, index): JsonObject => {
    const schema = member(declaration, 'parametersJsonSchema') ?? member(declaration, 'parameters');
    const args = sampleOf(schema ?? { type: 'object' });
    const call = { name: member(declaration, 'name') ?? '', args };
    const functionCall = hasIds ? { id: counted('call', context), ...call } : call;
    if (index > 0) return { functionCall };
    return {
      functionCall,
      thoughtSignature: signsEachRound ? callSignature(call) : thoughtSignature,
    };
  });
  return {
    parts,
    tokens: geminiTokens.functionCall,
    finishMessage: 'Model generated function call(s).',
  };
}

/** A whole reply has the pieces of one text in one part. */
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
 * One reply per part, each with the usage so far, and a last one with the finish reason and an
 * empty text.
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
  const count = member(member(body, 'generationConfig'), 'candidateCount');
  const length = typeof count === 'number' && count >= 1 && count <= 8 ? Math.floor(count) : 1;
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
 * The usage when `share` of the candidate's tokens have been generated. Like Google, it omits
 * counts of zero.
 */
function usage([prompt, total, thoughts]: Turn['tokens'], share: number): JsonObject {
  const generated = Math.round(total * share);
  return {
    promptTokenCount: prompt,
    ...(generated > 0 ? { candidatesTokenCount: generated } : {}),
    totalTokenCount: prompt + generated + thoughts,
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

/** The width and height of each aspect ratio at the size 1K. */
const sizes: Readonly<Record<string, readonly [number, number]>> = {
  '1:1': [1024, 1024],
  '2:3': [832, 1248],
  '3:2': [1248, 832],
  '3:4': [864, 1184],
  '4:3': [1184, 864],
  '4:5': [896, 1152],
  '5:4': [1152, 896],
  '9:16': [768, 1344],
  '16:9': [1344, 768],
  '21:9': [1536, 672],
};

export function wantsImage(body: JsonValue | undefined): boolean {
  const modalities = member(member(body, 'generationConfig'), 'responseModalities');
  return items(modalities).some((modality) => String(modality).toUpperCase() === 'IMAGE');
}

/** The part with the image, in the requested aspect ratio, or 64 × 64 where there is none. */
function imagePart(body: JsonValue | undefined): JsonObject {
  const ratio = member(member(member(body, 'generationConfig'), 'imageConfig'), 'aspectRatio');
  const [width, height] = sizes[String(ratio)] ?? [64, 64];
  return {
    inlineData: { mimeType: 'image/png', data: gradientPng(width, height).toString('base64') },
  };
}

export interface ContentTurn {
  readonly role: 'user' | 'model';
  readonly parts: readonly JsonValue[];
}

export function callSignature(call: JsonValue): string {
  return signatureOf(JSON.stringify([member(call, 'name'), member(call, 'args') ?? {}]));
}

/** The contents of a request; consecutive ones of one role count as one. */
export function turnsOf(body: JsonValue | undefined): readonly ContentTurn[] {
  const turns: { role: ContentTurn['role']; parts: JsonValue[] }[] = [];
  for (const content of items(member(body, 'contents'))) {
    const role = member(content, 'role') === 'model' ? 'model' : 'user';
    const parts = items(member(content, 'parts'));
    const last = turns.at(-1);
    if (last?.role === role) last.parts.push(...parts);
    else turns.push({ role, parts: [...parts] });
  }
  return turns;
}

/** The turns after the user's last content; function results don't count. */
export function currentTurn(turns: readonly ContentTurn[]): readonly ContentTurn[] {
  const lastContent = turns.findLastIndex(
    ({ role, parts }) => role === 'user' && parts.some((part) => resultOf(part) === undefined),
  );
  return turns.slice(lastContent + 1);
}

export function callsIn(parts: readonly JsonValue[]): readonly JsonValue[] {
  return parts.map(callOf).filter((call) => call !== undefined);
}

/** The call in a part, in either spelling. */
export function callOf(part: JsonValue): JsonValue | undefined {
  return member(part, 'functionCall') ?? member(part, 'function_call');
}

/** The result of a call in a part, in either spelling. */
export function resultOf(part: JsonValue): JsonValue | undefined {
  return member(part, 'functionResponse') ?? member(part, 'function_response');
}

export function geminiError(
  code: number,
  status: string,
  message: string,
  details: readonly JsonObject[] = [],
  headers: ScriptHeaders = {},
): Script {
  const error = { code, message, status, ...(details.length > 0 ? { details } : {}) };
  return json(code, { error }, headers);
}

/** A 429 has the retry delay in its details, not in a header. */
export function geminiFailure(code: 429 | 500 | 503): Script {
  if (code === 429) {
    return geminiError(
      429,
      'RESOURCE_EXHAUSTED',
      'You exceeded your current quota, please check your plan and billing details.\n' +
        'Please retry in 2s.',
      [{ '@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay: '2s' }],
    );
  }
  if (code === 500) return geminiError(500, 'INTERNAL', 'An internal error has occurred.');
  return geminiError(503, 'UNAVAILABLE', 'The model is overloaded. Please try again later.');
}

/** The error in a stream that fails half-way, which Google writes without `data:`. */
export const geminiStreamError: string = `${JSON.stringify(
  { error: { code: 503, message: 'The model is overloaded.', status: 'UNAVAILABLE' } },
  null,
  2,
)}\n`;
