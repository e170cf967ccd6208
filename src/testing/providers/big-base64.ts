/** Images of any size that are generated while they are sent: a valid one followed by zeros. */
import { gradientPng } from './png.ts';

const mebibyte = 1024 * 1024;

/** The Base64 bytes per image of a model such as `…image-48mb`, undefined for other models. */
export function bigImageBytes(model: string): number | undefined {
  const megabytes = /\bimage-(\d{1,4})mb$/.exec(model)?.[1];
  return megabytes === undefined ? undefined : Number(megabytes) * mebibyte;
}

/** Base64 of this length, in pieces. Decoders stop at the end of the image at its beginning. */
export function* bigBase64(bytes: number): Generator<string | Uint8Array> {
  const image = gradientPng(64, 64);
  const padded = Buffer.concat([image, Buffer.alloc((3 - (image.length % 3)) % 3)]);
  const start = padded.toString('base64').slice(0, bytes);
  const zeros = Buffer.alloc(65_536, 'A');

  yield start;
  for (let remaining = bytes - start.length; remaining > 0; remaining -= zeros.length) {
    yield zeros.subarray(0, remaining);
  }
}
