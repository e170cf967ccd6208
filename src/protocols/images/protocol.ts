/** `POST /v1/images/generations`: OpenAI's image generation. */
import { operations } from '../../call.ts';
import { openaiCaller } from '../callers/openai.ts';
import type { Protocol } from '../protocol.ts';
import { readImages } from './read.ts';
import { imagesRelay } from './relay.ts';

/** The row of `table.ts`. */
export const images: Protocol = {
  name: 'images',
  caller: openaiCaller,
  dialect: 'openai',
  relayCapability: undefined,
  operation: operations.images,
  paths: { '/v1/images/generations': operations.images },
  methods: {},
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
