/** Pictures of any size that are never held: one that decodes, and zeros behind it. */
import { gradientPng } from './png.ts';

const mebibyte = 1024 * 1024;

/** How many MiB of Base64 a model `…image-48mb` answers a picture, or undefined for any other. */
export function bigImageBytes(model: string): number | undefined {
  const megabytes = /\bimage-(\d{1,4})mb$/.exec(model)?.[1];
  return megabytes === undefined ? undefined : Number(megabytes) * mebibyte;
}

/** So many bytes of Base64, in pieces: decoders stop at the end of the picture they begin with. */
export function* bigBase64(bytes: number): Generator<string | Uint8Array> {
  const picture = gradientPng(64, 64);
  const padded = Buffer.concat([picture, Buffer.alloc((3 - (picture.length % 3)) % 3)]);
  const start = padded.toString('base64').slice(0, bytes);
  const zeros = Buffer.alloc(65_536, 'A');

  yield start;
  for (let left = bytes - start.length; left > 0; left -= zeros.length) {
    yield zeros.subarray(0, left);
  }
}
