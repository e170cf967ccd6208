/** The codec for the images protocol with Google's image models. */

import { jsonText } from '../../../canonical/raw-json.ts';
import type { GatewayError } from '../../../errors.ts';
import type { ImageClientCodec, ImageRequest, WrittenReply } from '../../codec.ts';
import { notPortable } from '../../not-portable.ts';
import { geminiImageTap } from './tap.ts';

/** Uses `generateContent` with image output. */
export const geminiImages: ImageClientCodec = {
  begin: (request, { upstreamModel }) => {
    const { text, dropped } = writeGeminiImages(request, upstreamModel);
    return { body: text, dropped, tap: ({ createdSeconds }) => geminiImageTap(createdSeconds) };
  },
};

function writeGeminiImages(request: ImageRequest, upstreamModel: string): WrittenReply {
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

interface GeminiSize {
  /** Undefined if the model is to choose. */
  readonly config: { readonly aspectRatio: string; readonly imageSize?: string } | undefined;
  readonly isExact: boolean;
}

/** The ratios that every image model since Gemini 2.5 supports. */
const ratios: readonly (readonly [width: number, height: number])[] = [
  [1, 1],
  [2, 3],
  [3, 2],
  [3, 4],
  [4, 3],
  [4, 5],
  [5, 4],
  [9, 16],
  [16, 9],
  [21, 9],
];

/**
 * Allowed deviation from a ratio. Google's own images deviate from their nominal ratio by up to 2.8
 * % (16:9 is 1344 × 768), and OpenAI's 1792x1024 deviates from 16:9 by 1.6 %. No two ratios are
 * closer to each other than 6 %.
 */
const tolerance = 0.03;

/** Size classes by the longest side, in pixels. Larger sizes use the last class. */
const classes: readonly (readonly [name: string, side: number])[] = [
  ['1K', 1024],
  ['2K', 2048],
  ['4K', 4096],
];

/** Models with a single size class, which refuse `imageSize`: Gemini 2, 2.5, and the lite ones. */
const fixedSize = /gemini-[12]\.|flash-lite/;

function geminiSize(size: string | undefined, upstreamModel: string): GeminiSize {
  if (size === undefined || size === 'auto') return { config: undefined, isExact: true };
  const [, width = 0, height = 0] = (/^(\d{1,5})x(\d{1,5})$/.exec(size) ?? []).map(Number);
  const ratio = ratios.find(([x, y]) => Math.abs((width * y) / (height * x) - 1) <= tolerance);
  if (ratio === undefined) throw unmappable();

  const aspectRatio = ratio.join(':');
  const longest = Math.max(width, height);
  const [name, side] = classes.find(([, most]) => longest <= most) ?? ['4K', 4096];
  const isSquare = width === height && width === side;
  return fixedSize.test(upstreamModel)
    ? { config: { aspectRatio }, isExact: isSquare && side === 1024 }
    : { config: { aspectRatio, imageSize: name }, isExact: isSquare };
}

function unmappable(): GatewayError {
  return notPortable(
    'size',
    "This model doesn't support this `size`. Send auto, or WIDTHxHEIGHT in one of the ratios " +
      `${ratios.map((ratio) => ratio.join(':')).join(', ')}.`,
  );
}
