/**
 * The conversations that Google refuses: empty instructions, results that don't match their calls,
 * and calls of Gemini 3 that are sent back without their signature.
 */
import { isJsonObject, items, type JsonValue, member } from '../../src/json.ts';
import type { RecordedCall } from '../../src/testing/providers/exchange.ts';
import {
  type ContentTurn,
  callOf,
  callSignature,
  callsIn,
  currentTurn,
  geminiError,
  resultOf,
  turnsOf,
} from '../../src/testing/providers/gemini-content.ts';
import { geminiHeaders, thoughtSignature } from '../../src/testing/providers/recordings.ts';
import type { Script } from '../../src/testing/providers/scripts.ts';
import { unknownName } from './gemini-members.ts';

/** Google's refusal of a content request or of a count of its tokens, or undefined. */
export function refusedByGoogle(call: RecordedCall): Script | undefined {
  const [, name = '', method] =
    /^\/v1beta\/models\/(.+):(generateContent|streamGenerateContent|countTokens)(?:\?|$)/.exec(
      call.path,
    ) ?? [];
  if (method === undefined) return undefined;
  const body = call.json();
  const model = decodeURIComponent(name);
  // Requests for models that only tests know may have members that Google doesn't know.
  const isStrict = model.startsWith('gemini') || member(body, 'messages') !== undefined;
  const message =
    (isStrict ? unknownName(body, method === 'countTokens' ? 'count' : 'request') : undefined) ??
    refusedConversation(member(body, 'generateContentRequest') ?? body, model);
  return message === undefined
    ? undefined
    : geminiError(400, 'INVALID_ARGUMENT', message, [], geminiHeaders);
}

function refusedConversation(body: JsonValue | undefined, model: string): string | undefined {
  const turns = turnsOf(body);
  return (
    emptyInstruction(body) ??
    emptyParts(body) ??
    misplacedCalls(turns) ??
    (model.includes('gemini-3') ? missingSignature(turns) : undefined)
  );
}

function emptyInstruction(body: JsonValue | undefined): string | undefined {
  const instruction = member(body, 'systemInstruction') ?? member(body, 'system_instruction');
  if (instruction === undefined) return undefined;
  const parts = items(member(instruction, 'parts'));
  const hasText = parts.some((part) => String(member(part, 'text') ?? '') !== '');
  if (hasText) return undefined;
  return '* GenerateContentRequest.system_instruction.parts: contents.parts must not be empty.\n';
}

const dataNames: readonly string[] = [
  'text',
  'inlineData',
  'inline_data',
  'fileData',
  'file_data',
  'functionCall',
  'function_call',
  'functionResponse',
  'function_response',
  'executableCode',
  'codeExecutionResult',
  'toolCall',
  'toolResponse',
];

function emptyParts(body: JsonValue | undefined): string | undefined {
  for (const [index, content] of items(member(body, 'contents')).entries()) {
    const parts = items(member(content, 'parts'));
    const at = `* GenerateContentRequest.contents[${index}].parts`;
    if (parts.length === 0) return `${at}: contents.parts must not be empty.\n`;
    const empty = parts.findIndex((part) => !dataNames.some((name) => isIn(part, name)));
    if (empty !== -1) {
      return `${at}[${empty}].data: required oneof field 'data' must have one initialized field\n`;
    }
  }
  return undefined;
}

function isIn(part: JsonValue, name: string): boolean {
  return isJsonObject(part) && Object.hasOwn(part, name);
}

function misplacedCalls(turns: readonly ContentTurn[]): string | undefined {
  for (const [index, { role, parts }] of turns.entries()) {
    const results = parts.map(resultOf).filter((result) => result !== undefined);
    const before = turns[index - 1];
    if (role === 'model') {
      if (callsIn(parts).length > 0 && before === undefined) return misplacedCallTurn;
      continue;
    }
    const calls = callsIn(before?.parts ?? []);
    if (calls.length === 0 && results.length > 0) return misplacedResults;
    if (calls.length !== results.length) return wrongNumber;
    if (!areResultsOf(results, calls)) return wrongNames;
  }
  const unanswered = turns.at(-1);
  return unanswered?.role === 'model' && callsIn(unanswered.parts).length > 0
    ? wrongNumber
    : undefined;
}

const misplacedCallTurn =
  'Please ensure that function call turn comes immediately after a user turn or after a function ' +
  'response turn.';
const misplacedResults =
  'Please ensure that function response turn comes immediately after a function call turn.';
const wrongNumber =
  'Please ensure that the number of function response parts is equal to the number of function ' +
  'call parts of the function call turn.';
const wrongNames =
  'Please ensure that the function response parts match the function call parts of the function ' +
  'call turn by id or by name and order.';

/** Matches by id in any order if the calls have ids, else by name in the order of the calls. */
function areResultsOf(results: readonly JsonValue[], calls: readonly JsonValue[]): boolean {
  if (calls.every((call) => member(call, 'id') !== undefined)) {
    const open = new Map(calls.map((call) => [member(call, 'id'), member(call, 'name')]));
    return results.every((result) => {
      const id = member(result, 'id');
      const fits = open.get(id) === member(result, 'name');
      return open.delete(id) && fits;
    });
  }
  return results.every((result, index) => {
    const call = calls[index];
    return (
      member(result, 'name') === member(call, 'name') && member(result, 'id') === member(call, 'id')
    );
  });
}

/** Only the first of parallel calls is signed. */
function missingSignature(turns: readonly ContentTurn[]): string | undefined {
  for (const { parts } of currentTurn(turns)) {
    const part = parts.find((one) => callOf(one) !== undefined);
    const call = part === undefined ? undefined : callOf(part);
    if (part === undefined || call === undefined) continue;
    const given = member(part, 'thoughtSignature') ?? member(part, 'thought_signature');
    if (given === undefined || given === '') return unsigned(call);
    if (!isAccepted(String(given), call)) return 'Corrupted thought signature.';
  }
  return undefined;
}

function unsigned(call: JsonValue): string {
  return (
    'Function call is missing a thought_signature in functionCall parts. This is required for ' +
    'tools to work correctly, and missing thought_signature may lead to degraded model ' +
    `performance. Additional data, function call \`default_api:${member(call, 'name')}\`. Please ` +
    'refer to https://ai.google.dev/gemini-api/docs/thought-signatures for more details.'
  );
}

/** Placeholder signatures that Google accepts on calls that it never signed. */
const placeholderSignatures: readonly string[] = [
  'context_engineering_is_the_way_to_go',
  'skip_thought_signature_validator',
];

function isAccepted(given: string, call: JsonValue): boolean {
  if (given === thoughtSignature || given === callSignature(call)) return true;
  return placeholderSignatures.some((text) => given === text || given === base64(text));
}

function base64(text: string): string {
  return Buffer.from(text).toString('base64');
}
