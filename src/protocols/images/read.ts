/** Reads an image generation request. */
import { z } from 'zod';
import { operations } from '../../apis.ts';
import { parsedValue } from '../../bytes/json/scan/body.ts';
import { root, type Tape } from '../../bytes/json/tape.ts';
import type { Call } from '../../call.ts';
import { promptTally, sizeOf } from '../../dialects/measure/prompt-size.ts';
import { addTopLevelReferences } from '../../dialects/measure/referenced-media.ts';
import { checkExtraBody } from '../extra-body.ts';
import { checkedFields } from '../fields.ts';
import { guardedUses } from '../find-guarded.ts';
import type { BodyDefaults, CallTarget } from '../protocol.ts';
import { modelField, positiveField } from '../rules.ts';

interface ImageFields {
  readonly model: string;
  readonly prompt: string;
  readonly n?: number | null | undefined;
  readonly size?: string | null | undefined;
  readonly quality?: string | null | undefined;
  readonly response_format?: 'b64_json' | null | undefined;
  readonly stream?: false | null | undefined;
}

/** `n`, `size` and `quality` are checked only for type: limits depend on model and price. */
const imageFields: z.ZodType<ImageFields> = z.object({
  model: modelField,
  prompt: z.string('must be a string').min(1, 'must describe the image, not be empty'),
  n: positiveField,
  size: z.string('must be a string, like 1024x1024').nullish(),
  quality: z.string('must be a string, like low').nullish(),
  response_format: z
    .literal('b64_json', 'must be b64_json: images are always returned as Base64')
    .nullish(),
  stream: z.literal(false, 'is not offered for images. Leave it out').nullish(),
});

/**
 * Reads the request. OpenAI's API has a default model, and so may the gateway.
 *
 * @throws GatewayError `invalid_request` that names the member
 */
export function readImages(
  tape: Tape,
  _target: CallTarget,
  { defaultImageModel }: BodyDefaults,
): Call {
  const fields = checkedFields(imageFields, fieldsOf(tape, defaultImageModel));
  checkExtraBody(tape, {
    members: {
      model: fields.model,
      prompt: fields.prompt,
      stream: false,
      n: fields.n ?? 1,
      size: fields.size ?? undefined,
      quality: fields.quality ?? undefined,
    },
  });
  const tally = promptTally(tape);
  addTopLevelReferences(tally, root);
  const prompt = sizeOf(tally);
  return {
    protocol: 'images',
    operation: operations.images,
    modelId: fields.model,
    framing: 'json',
    body: tape.body,
    tape,
    promptCacheKey: undefined,
    wantsUsage: true,
    demand: {
      prompt,
      predictedBytes: 0,
      maxOutputTokens: undefined,
      candidates: fields.n ?? 1,
      size: fields.size ?? undefined,
      quality: fields.quality ?? undefined,
      guarded: guardedUses(tape, prompt.media),
    },
  };
}

function fieldsOf(
  tape: Tape,
  defaultModel: string | undefined,
): { readonly [Name in keyof ImageFields]-?: unknown } {
  const fields: { -readonly [Name in keyof ImageFields]-?: unknown } = {
    model: undefined,
    prompt: undefined,
    n: undefined,
    size: undefined,
    quality: undefined,
    response_format: undefined,
    stream: undefined,
  };
  for (const value of tape.members(root)) {
    const name = tape.name(value);
    switch (name) {
      case 'model':
      case 'prompt':
      case 'n':
      case 'size':
      case 'quality':
      case 'response_format':
      case 'stream':
        fields[name] = parsedValue(tape, value);
        break;
      default:
    }
  }
  fields.model ??= defaultModel;
  return fields;
}
