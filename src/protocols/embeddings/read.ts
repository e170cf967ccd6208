/** Reads an embeddings request of OpenAI's API. */
import { z } from 'zod';
import { none, root, type Tape } from '../../bytes/json/tape.ts';
import type { Call } from '../../call.ts';
import { otherBytes, sizeOfInputs } from '../../dialects/measure/embedding-size.ts';
import { GatewayError } from '../../errors.ts';
import { embeddingCall } from '../embedding-call.ts';
import { checkExtraBody } from '../extra-body.ts';
import { checkedFields, fieldOf } from '../fields.ts';
import { guardedUses } from '../find-guarded.ts';
import { modelField, positiveField } from '../rules.ts';
import { readInputs } from './read-inputs.ts';

interface EmbeddingFields {
  readonly model: string;
  readonly dimensions?: number | null | undefined;
  readonly encoding_format?: 'float' | 'base64' | null | undefined;
}

const embeddingFields: z.ZodType<EmbeddingFields> = z.object({
  model: modelField,
  dimensions: positiveField,
  encoding_format: z.enum(['float', 'base64'], 'must be float or base64').nullish(),
});

/** The members that are no text: they are checked, and an upstream counts no tokens for them. */
const countedElsewhere: ReadonlySet<string> = new Set([
  'model',
  'input',
  'dimensions',
  'encoding_format',
]);

/**
 * Reads the request. Limits in tokens are the upstream's to judge.
 *
 * @throws GatewayError `invalid_request` that names the member
 */
export function readEmbeddings(tape: Tape): Call {
  const modelId = readSettings(tape);
  const input = tape.get(root, 'input');
  if (input === none) {
    const message = '`input` is missing. Send a text or a list of texts.';
    throw new GatewayError('invalid_request', message, { param: 'input' });
  }
  const prompt = sizeOfInputs(readInputs(tape, input), otherBytes(tape, countedElsewhere));
  return embeddingCall(tape, modelId, prompt, guardedUses(tape, prompt.media));
}

function readSettings(tape: Tape): string {
  const { model, dimensions, encoding_format } = checkedFields(embeddingFields, {
    model: fieldOf(tape, 'model'),
    dimensions: fieldOf(tape, 'dimensions'),
    encoding_format: fieldOf(tape, 'encoding_format'),
  });
  checkExtraBody(tape, {
    members: {
      model,
      // Refused with any value: the gateway has counted only the one at the top level.
      input: null,
      dimensions: dimensions ?? undefined,
      encoding_format: encoding_format ?? undefined,
    },
  });
  return model;
}
