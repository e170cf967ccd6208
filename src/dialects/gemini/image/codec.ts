/** The codec for the images protocol with Google's image models. */
import type { ImageClientCodec } from '../../image-codec.ts';
import { writeGeminiImages } from './request.ts';
import { geminiImageTap } from './tap.ts';

/** Uses `generateContent` with image output. */
export const geminiImages: ImageClientCodec = {
  begin: (request, { upstreamModel }) => {
    const { text, dropped } = writeGeminiImages(request, upstreamModel);
    return { body: text, dropped, tap: ({ createdSeconds }) => geminiImageTap(createdSeconds) };
  },
};
