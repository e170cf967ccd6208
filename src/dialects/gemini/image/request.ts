/** Writes an image request as `generateContent` for Google's image models. */
import { jsonText } from '../../../canonical/raw-json.ts';
import { GatewayError } from '../../../errors.ts';
import type { WrittenReply } from '../../codec.ts';
import type { ImageRequest } from '../../image-codec.ts';
import { geminiSize } from './size.ts';

/** @throws GatewayError `not_portable` that names a member that these models don't support */
export function writeGeminiImages(request: ImageRequest, upstreamModel: string): WrittenReply {
  refuseUnsupported(request);
  const { config, isExact } = geminiSize(request.size, upstreamModel);
  const { quality, endUserId } = request;
  return {
    text: jsonText({
      contents: [{ role: 'user', parts: [{ text: request.prompt }] }],
      generationConfig: {
        responseModalities: ['TEXT', 'IMAGE'],
        ...(config === undefined ? {} : { imageConfig: { ...config } }),
      },
    }),
    dropped: [
      ...(isExact ? [] : ['size']),
      ...(quality === undefined || quality === 'auto' ? [] : ['quality']),
      ...(endUserId === undefined ? [] : ['user']),
      ...request.dropped,
    ],
  };
}

function refuseUnsupported({ candidates, background, outputFormat }: ImageRequest): void {
  if (candidates > 1) {
    throw notPortable(
      'n',
      'This model generates one image per request. Send `n` as 1, or leave it out.',
    );
  }
  if (background !== undefined && background !== 'auto' && background !== 'opaque') {
    throw notPortable(
      'background',
      'This model generates opaque images only. Send `background` as auto or opaque, or omit it.',
    );
  }
  if (outputFormat !== undefined && outputFormat !== 'png') {
    throw notPortable(
      'output_format',
      "This model's output format can't be set. Send `output_format` as png, or leave it out.",
    );
  }
}

function notPortable(param: string, message: string): GatewayError {
  return new GatewayError('not_portable', message, { param });
}
