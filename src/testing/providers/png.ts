/** Generates a valid PNG, small enough to compress synchronously. */
import { crc32, deflateSync } from 'node:zlib';

const signature = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);

/** A gradient of this many pixels as a PNG: 8-bit RGB, not interlaced (W3C PNG §11). */
export function gradientPng(width: number, height: number): Buffer {
  return Buffer.concat([
    signature,
    chunk('IHDR', header(width, height)),
    chunk('IDAT', deflateSync(gradient(width, height))),
    chunk('IEND', Buffer.alloc(0)),
  ]);
}

function header(width: number, height: number): Buffer {
  const bytes = Buffer.alloc(13);
  bytes.writeUInt32BE(width, 0);
  bytes.writeUInt32BE(height, 4);
  // 8 bits per sample, colour type 2 (RGB); compression, filter and interlace methods are all 0.
  bytes.set([8, 2, 0, 0, 0], 8);
  return bytes;
}

/** Rows of RGB, each after its filter type 0, which means none. */
function gradient(width: number, height: number): Buffer {
  const stride = 1 + width * 3;
  const rows = Buffer.alloc(stride * height);
  for (let y = 0; y < height; y++) {
    const green = shade(y, height);
    let at = y * stride + 1;
    for (let x = 0; x < width; x++) {
      rows[at++] = shade(x, width);
      rows[at++] = green;
      rows[at++] = 160;
    }
  }
  return rows;
}

function shade(position: number, length: number): number {
  return Math.floor((position * 256) / length);
}

/** Length, type, data, and the CRC of type and data. */
function chunk(type: string, data: Buffer): Buffer {
  const named = Buffer.concat([Buffer.from(type, 'latin1'), data]);
  const bytes = Buffer.alloc(named.length + 8);
  bytes.writeUInt32BE(data.length, 0);
  named.copy(bytes, 4);
  bytes.writeUInt32BE(crc32(named), named.length + 4);
  return bytes;
}
