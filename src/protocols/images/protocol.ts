/** `POST /v1/images/generations`: OpenAI's image generation. */

import { apiCalls } from '../../apis.ts';
import type { MemberEdit } from '../../bytes/body/splice.ts';
import { none, root } from '../../bytes/json/tape.ts';
import type { Call } from '../../call.ts';
import { quoted } from '../../canonical/raw-json.ts';
import { openaiInBandFailure } from '../../dialects/openai/errors.ts';
import { openaiUsage, openaiUsageOfObject, reasoningOutside } from '../../dialects/openai/usage.ts';
import { documentTap } from '../../dialects/taps/document-tap.ts';
import type { FailureReason } from '../../failure-reasons.ts';
import { items, type JsonValue, member } from '../../json.ts';
import type { Channel } from '../../ports/catalog.ts';
import { openaiCaller } from '../callers/openai.ts';
import type { Protocol, RelayRules } from '../protocol.ts';
import { modelEdit } from '../rules.ts';
import { readImages } from './read.ts';

const imagesRelay: RelayRules = {
  edits: (call, upstreamModel, channel) => [
    ...(namesModel(call) ? modelEdit(call, upstreamModel) : addedModel(upstreamModel)),
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

function namesModel({ tape }: Call): boolean {
  return tape.present(root, 'model') !== none;
}

function addedModel(upstreamModel: string): readonly MemberEdit[] {
  return [{ name: 'model', value: quoted(upstreamModel) }];
}

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
  relayCapability: undefined,
  ...apiCalls.images,
  maxBodyBytes: ({ maxImageBodyBytes }) => maxImageBodyBytes,
  repeatableAs: 'images',
  outputLimits: [],
  candidates: { member: 'n', maximum: 10 },
  read: readImages,
  relay: imagesRelay,
  codecs: async () => ({
    images: (await import('../../dialects/openai/image-request.ts')).readImageRequest,
  }),
  // The reply reports the number of its images.
  imageCounter: undefined,
  keepAlive: () => undefined,
};
