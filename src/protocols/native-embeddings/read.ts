/**
 * Reads native (Gemini) embedding requests: one content, or a batch of requests that each have one.
 * The model is in the path.
 */
import { z } from 'zod';
import { operations } from '../../apis.ts';
import { none, root, type Tape, type Value } from '../../bytes/json/tape.ts';
import type { Call, InputSize } from '../../call.ts';
import { mediaOfContent } from '../../dialects/gemini/prompt-size.ts';
import { leafBytes, otherBytes, sizeOfInputs } from '../../dialects/measure/embedding-size.ts';
import { type GatewayError, invalidRequest } from '../../errors.ts';
import { arrayMember, checkedFields, fieldOf } from '../fields.ts';
import { refuseOtherModel } from '../native/read.ts';
import type { CallTarget } from '../protocol.ts';
import { newCall, positiveField } from '../rules.ts';
import { refuseOtherCase, refuseTwoSpellings } from '../spellings.ts';

/** Reads `:embedContent`. */
export function readEmbedContent(tape: Tape, target: CallTarget): Call {
  const { modelId = '' } = target;
  return callOf(tape, modelId, [readOne(tape, root, modelId, '')], 0);
}

/** Reads `:batchEmbedContents`. */
export function readBatchEmbedContents(tape: Tape, target: CallTarget): Call {
  const { modelId = '' } = target;
  refuseOtherModel(fieldOf(tape, 'model'), modelId);
  const requests = arrayMember(tape, 'requests', 'Send [{"content":{"parts":[{"text":"…"}]}}].');
  const inputs = tape.elements(requests).map((request, index) => {
    const at = `requests[${index}]`;
    if (!tape.isObject(request)) throw invalid(at, 'must be an object with `content`');
    return readOne(tape, request, modelId, `${at}.`);
  });
  return callOf(tape, modelId, inputs, otherBytes(tape, batchMembers));
}

const batchMembers: ReadonlySet<string> = new Set(['model', 'requests']);

/** Members of a request for which an upstream counts no tokens; they are short or checked. */
const settings: ReadonlySet<string> = new Set([
  ...['model', 'taskType', 'task_type', 'outputDimensionality', 'output_dimensionality'],
]);

const requestFields = z.object({
  outputDimensionality: positiveField,
  output_dimensionality: positiveField,
});

function readOne(tape: Tape, object: Value, modelId: string, at: string): InputSize {
  refuseOtherModel(fieldOf(tape, 'model', object), modelId, `${at}model`);
  refuseTwoSpellings(tape, { object, at });
  for (const value of tape.members(object)) refuseOtherCase(tape.name(value), at);
  checkedFields(
    requestFields,
    {
      outputDimensionality: fieldOf(tape, 'outputDimensionality', object),
      output_dimensionality: fieldOf(tape, 'output_dimensionality', object),
    },
    at,
  );
  const content = tape.get(object, 'content');
  if (content === none) {
    throw invalid(`${at}content`, 'is missing. Send {"parts":[{"text":"…"}]}');
  }
  const { media, payloadBytes } = mediaOfContent(tape, content, `${at}content`);
  const contentBytes = leafBytes(tape, content, contentNames) - payloadBytes;
  return { textBytes: contentBytes + settingBytes(tape, object), tokens: 0, media };
}

/** The names around every text. Those around media are counted, which changes little. */
const contentNames: readonly string[] = ['parts', 'text', 'role'];

/** No task has a longer name. A longer value counts as text. */
const maxTaskBytes = 64;

/** The bytes outside of the content that may be text: a title, and everything unknown. */
function settingBytes(tape: Tape, object: Value): number {
  let bytes = 0;
  for (const value of tape.members(object)) {
    const name = tape.name(value);
    const length = tape.length(value);
    if (name === 'content' || (settings.has(name) && length <= maxTaskBytes)) continue;
    const isKnown = settings.has(name) || name === 'title';
    bytes += length + (isKnown ? 0 : tape.nameEnd(value) - tape.nameStart(value));
  }
  return bytes;
}

function callOf(
  tape: Tape,
  modelId: string,
  inputs: readonly InputSize[],
  otherMemberBytes: number,
): Call {
  const prompt = sizeOfInputs(inputs, otherMemberBytes);
  const { embed: operation } = operations;
  return newCall(tape, { protocol: 'embeddings', operation, modelId, prompt, maxOutputTokens: 0 });
}

function invalid(param: string, problem: string): GatewayError {
  return invalidRequest(`\`${param}\` ${problem}.`, param);
}
