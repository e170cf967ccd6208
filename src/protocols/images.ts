/** Reads an image generation request (spec §2.2, WIRE §3). */
import { z } from 'zod';
import type { Call } from '../call.ts';
import { readFields, type ScannedBody } from './fields.ts';
import { promptTally, stringMember } from './prompt-size.ts';
import { modelField, positiveField } from './rules.ts';

interface ImageFields {
  readonly model: string;
  readonly prompt: string;
  readonly n?: number | null | undefined;
  readonly size?: string | null | undefined;
  readonly quality?: string | null | undefined;
}

/**
 * `n`, `size` and `quality` are checked for type only: their bounds are the model's and its
 * price's.
 */
const imageFields: z.ZodType<ImageFields> = z.object({
  model: modelField,
  prompt: z.string('must be a string').min(1, 'must describe the image, not be empty'),
  n: positiveField,
  size: z.string('must be a string, like 1024x1024').nullish(),
  quality: z.string('must be a string, like low').nullish(),
  response_format: z
    .literal('b64_json', 'may only be b64_json: images are always returned as Base64')
    .nullish(),
  stream: z.literal(false, 'is not offered for images. Leave it out').nullish(),
});
const fieldNames: readonly string[] = [
  'model',
  'prompt',
  'n',
  'size',
  'quality',
  'response_format',
  'stream',
];

/** @throws GatewayError `invalid_request` that names the member */
export function readImages(scanned: ScannedBody): Call {
  const fields = readFields(scanned, fieldNames, imageFields);
  const tally = promptTally(scanned.body);
  const prompt = stringMember(scanned.body, scanned.members, 'prompt');
  if (prompt !== undefined) tally.text(prompt);
  return {
    protocol: 'images',
    operation: 'images',
    modelId: fields.model,
    framing: 'json',
    ...scanned,
    promptCacheKey: undefined,
    wantsUsage: true,
    demand: {
      ...tally.size(),
      maxOutputTokens: undefined,
      candidates: fields.n ?? 1,
      size: fields.size ?? undefined,
      quality: fields.quality ?? undefined,
    },
  };
}
