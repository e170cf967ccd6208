/** `POST /v1/images/generations`: OpenAI's image generation. */

import { z } from 'zod';
import { apiCalls } from '../../apis.ts';
import type { MemberEdit } from '../../bytes/body/splice.ts';
import { none, root, type Tape } from '../../bytes/json/tape.ts';
import type { Call } from '../../call.ts';
import { quoted } from '../../canonical/raw-json.ts';
import { promptTally, sizeOf } from '../../dialects/measure/prompt-size.ts';
import { addTopLevelReferences } from '../../dialects/measure/referenced-media.ts';
import { openaiInBandFailure } from '../../dialects/openai/errors.ts';
import { openaiUsage, openaiUsageOfObject, reasoningOutside } from '../../dialects/openai/usage.ts';
import { documentTap } from '../../dialects/taps/document-tap.ts';
import type { FailureReason } from '../../failure-reasons.ts';
import { items, type JsonValue, member } from '../../json.ts';
import type { Channel } from '../../ports/models/catalog.ts';
import { openaiCaller } from '../callers/openai.ts';
import { checkExtraBody } from '../extra-body.ts';
import { blankFields, checkedFields, fieldsIn } from '../fields.ts';
import type { BodyDefaults, CallTarget, Protocol, RelayRules } from '../protocol.ts';
import { modelEdit, modelField, newCall, positiveField } from '../rules.ts';

const imagesRelay: RelayRules = {
  edits: (call, upstreamModel, channel) => [
    ...(call.tape.present(root, 'model') === none
      ? [{ name: 'model', value: quoted(upstreamModel) }]
      : modelEdit(call, upstreamModel)),
    ...formatEdits(call, channel),
  ],
  tap: (_call, channel) =>
    documentTap({
      usageMember: 'usage',
      readUsage: (usage, images) => openaiUsageOfObject(usage, images, reasoningOutside(channel)),
      inBandFailure: openaiInBandFailure,
      isImageReply: true,
    }),
  invalidReplyReason,
  readUsage: (reply, channel, counted) => openaiUsage(reply, reasoningOutside(channel), counted),
};

/** Every image must be Base64: a URL is never fetched and never passed on. */
function invalidReplyReason(reply: JsonValue): FailureReason | undefined {
  const images = items(member(reply, 'data'));
  if (images.length === 0) return 'upstream_empty';
  const isBase64 = images.every((image) => typeof member(image, 'b64_json') === 'string');
  return isBase64 ? undefined : 'upstream_image_not_base64';
}

/** Some servers need to be told to send Base64; others refuse the member. */
function formatEdits({ tape }: Call, { capabilities }: Channel): readonly MemberEdit[] {
  if (capabilities?.imageBase64 === 'response_format') {
    return [{ name: 'response_format', value: '"b64_json"' }];
  }
  const isRequested = tape.get(root, 'response_format') !== none;
  return isRequested ? [{ name: 'response_format', value: undefined }] : [];
}

export const images: Protocol = {
  name: 'images',
  caller: openaiCaller,
  dialect: 'openai',
  ...apiCalls.images,
  maxBodyBytes: ({ maxImageBodyBytes }) => maxImageBodyBytes,
  takesIdempotencyKey: true,
  outputLimits: [],
  candidates: { member: 'n', maximum: 10 },
  read: readImages,
  relay: imagesRelay,
  codecs: async () => ({
    images: (await import('../../dialects/openai/image-request.ts')).readImageRequest,
  }),
};

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
  { modelId, operation }: CallTarget,
  { defaultImageModel }: BodyDefaults,
): Call {
  const read = fieldsIn(tape, blank);
  read.model = modelId ?? read.model ?? defaultImageModel;
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
    operation,
    modelId: fields.model,
    isModelInPath: modelId !== undefined,
    prompt: sizeOf(tally),
    maxOutputTokens: undefined,
    candidates: fields.n ?? 1,
    size: fields.size ?? undefined,
    quality: fields.quality ?? undefined,
  });
}
