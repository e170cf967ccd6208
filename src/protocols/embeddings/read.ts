/** Reads an embeddings request of OpenAI's API. */
import { z } from 'zod';
import { findMember } from '../../bytes/json/read/members.ts';
import type { ScannedBody, WholeScan } from '../../bytes/json/scan/body.ts';
import type { Call } from '../../call.ts';
import { otherBytes, sizeOfInputs } from '../../dialects/embedding-size.ts';
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
export function readEmbeddings(scanned: WholeScan): Call {
  const { body, members } = scanned;
  const modelId = readSettings(scanned);
  const input = findMember(members, 'input');
  if (input === undefined) {
    throw new GatewayError(
      'invalid_request',
      '`input` is missing. Send a text or a list of texts.',
      {
        param: 'input',
      },
    );
  }
  const restBytes = otherBytes(body, members, countedElsewhere);
  const prompt = sizeOfInputs(readInputs(body, input.value), restBytes);
  const others = members.filter((one) => one !== input);
  return embeddingCall(
    scanned,
    modelId,
    prompt,
    guardedUses({ ...scanned, members: others }, prompt.media),
  );
}

/** Checks the members other than the input; returns the model. */
function readSettings(scanned: ScannedBody): string {
  const { model, dimensions, encoding_format } = checkedFields(embeddingFields, {
    model: fieldOf(scanned, 'model'),
    dimensions: fieldOf(scanned, 'dimensions'),
    encoding_format: fieldOf(scanned, 'encoding_format'),
  });
  checkExtraBody(scanned, {
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
