/**
 * Reads native (Gemini) embedding requests: one content, or a batch of requests that each have one.
 * The model is in the path.
 */
import { z } from 'zod';
import { originalLength } from '../../bytes/body/body.ts';
import { findMember, kindAt, membersOf } from '../../bytes/json/read/members.ts';
import { skipValue } from '../../bytes/json/read/skip.ts';
import type { ScannedBody, WholeScan } from '../../bytes/json/scan/body.ts';
import type { Call, InputSize } from '../../call.ts';
import { leafBytes, otherBytes, sizeOfInputs } from '../../dialects/embedding-size.ts';
import { mediaOfContent } from '../../dialects/gemini/prompt-size.ts';
import { eachElement } from '../../dialects/prompt-size.ts';
import { GatewayError } from '../../errors.ts';
import { embeddingCall } from '../embedding-call.ts';
import { arrayMember, checkedFields, fieldOf } from '../fields.ts';
import { guardedUses } from '../find-guarded.ts';
import { refuseOtherModel } from '../native/read.ts';
import type { CallTarget } from '../protocol.ts';
import { positiveField } from '../rules.ts';
import { refuseOtherCase, refuseTwoSpellings } from '../spellings.ts';

/** Reads `:embedContent`. @throws GatewayError `invalid_request` that names the member */
export function readEmbedContent(scanned: WholeScan, target: CallTarget): Call {
  const { modelId = '' } = target;
  const input = readOne(scanned, modelId, '');
  return callOf(scanned, modelId, [input], 0);
}

/** Reads `:batchEmbedContents`. @throws GatewayError `invalid_request` that names the member */
export function readBatchEmbedContents(scanned: WholeScan, target: CallTarget): Call {
  const { body, members } = scanned;
  const { modelId = '' } = target;
  refuseOtherModel(fieldOf(scanned, 'model'), modelId);
  const requests = arrayMember(scanned, 'requests', 'Send [{"content":{"parts":[{"text":"…"}]}}].');
  const inputs: InputSize[] = [];
  eachElement(body.text, requests.value.start, (start, index) => {
    const value = { start, end: skipValue(body.text, start) };
    const at = `requests[${index}]`;
    if (kindAt(body.text, value) !== 'object') {
      throw invalid(at, 'must be an object with `content`');
    }
    inputs.push(readOne({ body, members: membersOf(body.text, value) }, modelId, `${at}.`));
    return value.end;
  });
  return callOf(scanned, modelId, inputs, otherBytes(body, members, batchMembers));
}

const batchMembers: ReadonlySet<string> = new Set(['model', 'requests']);

/** Members of a request for which an upstream counts no tokens; they are short or checked. */
const settings: ReadonlySet<string> = new Set([
  'model',
  'taskType',
  'task_type',
  'outputDimensionality',
  'output_dimensionality',
]);

interface RequestFields {
  readonly outputDimensionality?: number | null | undefined;
  readonly output_dimensionality?: number | null | undefined;
}

const requestFields: z.ZodType<RequestFields> = z.object({
  outputDimensionality: positiveField,
  output_dimensionality: positiveField,
});

/** Checks and measures one request, whose members have paths that begin with `at`. */
function readOne(request: ScannedBody, modelId: string, at: string): InputSize {
  const { body, members } = request;
  refuseOtherModel(fieldOf(request, 'model'), modelId, `${at}model`);
  refuseTwoSpellings(request, at);
  for (const { name } of members) refuseOtherCase(name, at);
  checkedFields(
    requestFields,
    {
      outputDimensionality: fieldOf(request, 'outputDimensionality'),
      output_dimensionality: fieldOf(request, 'output_dimensionality'),
    },
    at,
  );
  const content = findMember(members, 'content');
  if (content === undefined) {
    throw invalid(`${at}content`, 'is missing. Send {"parts":[{"text":"…"}]}');
  }
  const { media, payloadBytes } = mediaOfContent(body, content.value.start, `${at}content`);
  const contentBytes = leafBytes(body, content.value.start, contentNames) - payloadBytes;
  return { textBytes: contentBytes + settingBytes(request), tokens: 0, media };
}

/** The names around every text. Those around media are counted, which changes little. */
const contentNames: readonly string[] = ['parts', 'text', 'role'];

/** No task has a longer name. A longer value counts as text. */
const maxTaskBytes = 64;

/** The bytes outside of the content that may be text: a title, and everything unknown. */
function settingBytes({ body, members }: ScannedBody): number {
  let bytes = 0;
  for (const { name, nameSpan, value } of members) {
    const length = originalLength(body, value.start, value.end);
    if (name === 'content' || (settings.has(name) && length <= maxTaskBytes)) continue;
    const isKnown = settings.has(name) || name === 'title';
    bytes += length + (isKnown ? 0 : nameSpan.end - nameSpan.start);
  }
  return bytes;
}

function callOf(
  scanned: WholeScan,
  modelId: string,
  inputs: readonly InputSize[],
  otherMemberBytes: number,
): Call {
  const prompt = sizeOfInputs(inputs, otherMemberBytes);
  return embeddingCall(scanned, modelId, prompt, guardedUses(scanned, prompt.media));
}

function invalid(param: string, problem: string): GatewayError {
  return new GatewayError('invalid_request', `\`${param}\` ${problem}.`, { param });
}
