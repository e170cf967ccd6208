/** `POST /v1/embeddings`: OpenAI's embeddings. */

import { z } from 'zod';
import { apiCalls } from '../../apis.ts';
import type { MemberEdit } from '../../bytes/body/splice.ts';
import { none, root, type Tape, type Value } from '../../bytes/json/tape.ts';
import type { Call, InputSize } from '../../call.ts';
import { otherBytes, sizeOfInputs } from '../../dialects/measure/embedding-size.ts';
import { type EmbeddingFormat, embeddingRepair } from '../../dialects/openai/embedding-repair.ts';
import { openaiInBandFailure } from '../../dialects/openai/errors.ts';
import { embeddingTap } from '../../dialects/taps/embedding-tap.ts';
import { openaiEmbeddingUsage } from '../../dialects/usage/embedding-usage.ts';
import { GatewayError, invalidRequest } from '../../errors.ts';
import { items, type JsonValue, member } from '../../json.ts';
import type { Usage } from '../../money.ts';
import type { Channel } from '../../ports/models/catalog.ts';
import { openaiCaller } from '../callers/openai.ts';
import { checkExtraBody } from '../extra-body.ts';
import { blankFields, checkedFields, fieldOf, fieldsIn } from '../fields.ts';
import type { CallTarget, Protocol, RelayRules } from '../protocol.ts';
import { countRemark, modelEdit, modelField, newCall, positiveField } from '../rules.ts';

const readUsage = (reply: JsonValue): Usage | undefined =>
  openaiEmbeddingUsage(member(reply, 'usage'));

const embeddingsRelay: RelayRules = {
  edits: (call, upstreamModel, { capabilities }) => {
    checkTokens(call, capabilities);
    return [...modelEdit(call, upstreamModel), ...formatEdits(call, capabilities)];
  },
  repair: (call, { capabilities }) => {
    const isKnown = formatEdits(call, capabilities).length > 0;
    const repair = embeddingRepair(requestedFormat(call), isKnown);
    return isKnown ? { ...repair, hasRepaired: () => false } : repair;
  },
  tap: (call) =>
    embeddingTap({
      usageMembers: ['usage'],
      vectorsMember: 'data',
      readUsage,
      inBandFailure: openaiInBandFailure,
      remarkOn: (vectors) => countRemark(vectors, call),
    }),
  invalidReplyReason: (reply) =>
    Array.isArray(member(reply, 'data')) ? undefined : 'upstream_protocol_error',
  readUsage,
  remarks: (reply, call, usage) => ({
    reason: countRemark(items(member(reply, 'data')).length, call),
    notes: usage === undefined ? { 'x-tollgate-estimated': 'usage' } : {},
  }),
};

/** Without the member, the API answers numbers. */
function requestedFormat({ tape }: Call): EmbeddingFormat {
  return fieldOf(tape, 'encoding_format') === 'base64' ? 'base64' : 'float';
}

/** Asks for the only encoding that the upstream accepts. The reply is repaired. */
function formatEdits(call: Call, capabilities: Channel['capabilities']): readonly MemberEdit[] {
  const { embeddingBase64 = true, embeddingFloat = true } = capabilities ?? {};
  const requested = requestedFormat(call);
  const accepted = { float: embeddingFloat, base64: embeddingBase64 };
  if (accepted[requested]) return [];
  return [{ name: 'encoding_format', value: requested === 'float' ? '"base64"' : '"float"' }];
}

function checkTokens({ demand }: Call, capabilities: Channel['capabilities']): void {
  if (capabilities?.embeddingTokens !== false) return;
  if (demand.prompt.inputs?.some(({ tokens }) => tokens > 0) !== true) return;
  throw new GatewayError(
    'not_portable',
    'This model takes texts only. Send `input` as text, not as token ids.',
    { param: 'input' },
  );
}

export const embeddings: Protocol = {
  name: 'embeddings',
  caller: openaiCaller,
  dialect: 'openai',
  ...apiCalls.embeddings,
  maxBodyBytes: ({ maxBodyBytes }) => maxBodyBytes,
  takesIdempotencyKey: true,
  // The API has no member for several answers.
  outputLimits: [],
  candidates: { member: 'n', maximum: 1 },
  read: readEmbeddings,
  relay: embeddingsRelay,
  codecs: async () => ({
    embeddings: (await import('../../dialects/openai/embedding-server.ts')).openaiEmbeddingServer,
  }),
};

const embeddingFields = z.object({
  model: modelField,
  dimensions: positiveField,
  encoding_format: z.enum(['float', 'base64'], 'must be float or base64').nullish(),
});

const blank = blankFields(embeddingFields);
/** The members that are no text: they are checked, and an upstream counts no tokens for them. */
const countedElsewhere: ReadonlySet<string> = new Set([...Object.keys(blank), 'input']);

/** Limits in tokens are the upstream's to judge. */
export function readEmbeddings(tape: Tape, { modelId, operation }: CallTarget): Call {
  const read = fieldsIn(tape, blank);
  read.model = modelId ?? read.model;
  const fields = checkedFields(embeddingFields, read);
  const { model, dimensions, encoding_format } = fields;
  checkExtraBody(tape, {
    members: {
      model,
      // Refused with any value: the gateway has counted only the one at the top level.
      input: null,
      dimensions: dimensions ?? undefined,
      encoding_format: encoding_format ?? undefined,
    },
  });
  const input = tape.get(root, 'input');
  if (input === none) {
    throw invalidRequest('`input` is missing. Send a text or a list of texts.', 'input');
  }
  const prompt = sizeOfInputs(readInputs(tape, input), otherBytes(tape, countedElsewhere));
  return newCall(tape, {
    protocol: 'embeddings',
    operation,
    modelId: model,
    isModelInPath: modelId !== undefined,
    prompt,
    maxOutputTokens: 0,
  });
}

/** The limit of OpenAI's API. */
const maxInputs = 2_048;

/** The size of each input; one for a text or a list of token ids. */
function readInputs(tape: Tape, input: Value): readonly InputSize[] {
  if (tape.isArray(input)) return readList(tape, input);
  if (!tape.isString(input)) throw refused('input', forms);
  if (tape.length(input) === 2) throw refused('input', 'must not be empty');
  return [textInput(tape, input)];
}

const forms = 'must be a string, a list of strings, a list of token ids, or a list of such lists';

function readList(tape: Tape, list: Value): readonly InputSize[] {
  const inputs: InputSize[] = [];
  let ids = 0;
  let index = 0;
  const end = tape.after(list);
  const first = tape.first(list) < end ? tape.kind(tape.first(list)) : undefined;
  for (let value = tape.first(list); value < end; value = tape.after(value)) {
    const kind = tape.kind(value);
    if (kind !== first) throw refused(`input[${index}]`, 'must have the same type as input[0]');
    if (kind === 'string') inputs.push(textInput(tape, value));
    else if (kind === 'array') inputs.push(tokenInput(countIds(tape, value, index)));
    else if (kind === 'number') ids += 1;
    else throw refused(`input[${index}]`, 'must be a string, a token id or a list of token ids');
    index += 1;
  }
  if (first === undefined) throw refused('input', 'must not be an empty list');
  if (inputs.length > maxInputs) {
    throw refused('input', `has ${inputs.length} inputs; at most ${maxInputs} are allowed`);
  }
  return ids === 0 ? inputs : [tokenInput(ids)];
}

function countIds(tape: Tape, list: Value, index: number): number {
  let count = 0;
  const end = tape.after(list);
  for (let value = tape.first(list); value < end; value = tape.after(value)) {
    if (tape.kind(value) !== 'number') {
      throw refused(`input[${index}]`, 'must be a list of token ids, which are numbers');
    }
    count += 1;
  }
  return count;
}

function textInput(tape: Tape, value: Value): InputSize {
  return { textBytes: tape.length(value) - 2, tokens: 0, media: [] };
}

function tokenInput(tokens: number): InputSize {
  return { textBytes: 0, tokens, media: [] };
}

function refused(param: string, problem: string): GatewayError {
  return invalidRequest(`\`${param}\` ${problem}.`, param);
}
