/** Reads an image generation request. */
import { z } from 'zod';
import { operations } from '../../apis.ts';
import { root, type Tape } from '../../bytes/json/tape.ts';
import type { Call } from '../../call.ts';
import { promptTally, sizeOf } from '../../dialects/measure/prompt-size.ts';
import { addTopLevelReferences } from '../../dialects/measure/referenced-media.ts';
import { checkExtraBody } from '../extra-body.ts';
import { blankFields, checkedFields, fieldsIn } from '../fields.ts';
import type { BodyDefaults, CallTarget } from '../protocol.ts';
import { modelField, newCall, positiveField } from '../rules.ts';

/** `n`, `size` and `quality` are checked only for type: limits depend on model and price. */
const imageFields = z.object({
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

const blank = blankFields(imageFields);

/** OpenAI's API has a default model, and so may the gateway. */
export function readImages(
  tape: Tape,
  _target: CallTarget,
  { defaultImageModel }: BodyDefaults,
): Call {
  const read = fieldsIn(tape, blank);
  read.model ??= defaultImageModel;
  const fields = checkedFields(imageFields, read);
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
  return newCall(tape, {
    protocol: 'images',
    operation: operations.images,
    modelId: fields.model,
    prompt: sizeOf(tally),
    maxOutputTokens: undefined,
    candidates: fields.n ?? 1,
    size: fields.size ?? undefined,
    quality: fields.quality ?? undefined,
  });
}
