/**
 * Makes a screenshot small: a PNG with a palette of 256 colours, which is enough for a page of flat
 * colours and text.
 */
import { crc32, deflateSync, inflateSync } from 'node:zlib';

const signature = Buffer.from('89504e470d0a1a0a', 'hex');

interface Pixels {
  readonly width: number;
  readonly height: number;
  /** Bytes of a pixel: 3 or 4. */
  readonly depth: number;
  readonly bytes: Buffer;
}

/** The screenshot with a palette; its alpha channel is left out. */
export function palettePng(png: Buffer): Buffer {
  const pixels = pixelsOf(png);
  const palette = paletteOf(pixels);
  const nearest = nearestIn(palette);
  const { width, height, depth, bytes } = pixels;
  const rows = Buffer.alloc((width + 1) * height);
  for (let index = 0; index < width * height; index += 1) {
    const color = bytes.readUIntBE(index * depth, 3);
    rows[index + Math.floor(index / width) + 1] = nearest(color);
  }
  const head = Buffer.alloc(13);
  head.writeUInt32BE(width, 0);
  head.writeUInt32BE(height, 4);
  head.set([8, 3, 0, 0, 0], 8);
  const colors = Buffer.concat(palette.map((color) => channelsOf(color)));
  return Buffer.concat([
    signature,
    chunk('IHDR', head),
    chunk('PLTE', colors),
    chunk('IDAT', deflateSync(rows, { level: 9 })),
    chunk('IEND', Buffer.alloc(0)),
  ]);
}

function chunk(type: string, data: Buffer): Buffer {
  const body = Buffer.concat([Buffer.from(type, 'latin1'), data]);
  const result = Buffer.alloc(body.length + 8);
  result.writeUInt32BE(data.length, 0);
  result.set(body, 4);
  result.writeUInt32BE(crc32(body), body.length + 4);
  return result;
}

/** Decodes what Chromium writes: 8 bits, no interlacing. */
function pixelsOf(png: Buffer): Pixels {
  const data: Buffer[] = [];
  for (let at = signature.length; at < png.length; at += png.readUInt32BE(at) + 12) {
    const end = at + 8 + png.readUInt32BE(at);
    if (png.toString('latin1', at + 4, at + 8) === 'IDAT') data.push(png.subarray(at + 8, end));
  }
  const [width, height] = [png.readUInt32BE(16), png.readUInt32BE(20)];
  const depth = png[25] === 6 ? 4 : 3;
  return {
    width,
    height,
    depth,
    bytes: unfiltered(inflateSync(Buffer.concat(data)), width, depth),
  };
}

/** PNG §9: each byte is written as its difference to the bytes at its left and above it. */
function unfiltered(rows: Buffer, width: number, depth: number): Buffer {
  const length = width * depth;
  const bytes = Buffer.alloc((rows.length / (length + 1)) * length);
  for (let start = 0; start < bytes.length; start += length) {
    const from = (start / length) * (length + 1);
    const filter = rows[from];
    for (let x = 0; x < length; x += 1) {
      const left = x < depth ? 0 : (bytes[start + x - depth] ?? 0);
      const above = start === 0 ? 0 : (bytes[start + x - length] ?? 0);
      const corner = x < depth || start === 0 ? 0 : (bytes[start + x - length - depth] ?? 0);
      const guesses = [0, left, above, (left + above) >> 1, paeth(left, above, corner)];
      bytes[start + x] = (rows[from + 1 + x] ?? 0) + (guesses[filter ?? 0] ?? 0);
    }
  }
  return bytes;
}

function paeth(left: number, above: number, corner: number): number {
  const guess = left + above - corner;
  const [toLeft, toAbove, toCorner] = [left, above, corner].map((one) => Math.abs(guess - one));
  if (toLeft === undefined || toAbove === undefined || toCorner === undefined) return 0;
  if (toLeft <= toAbove && toLeft <= toCorner) return left;
  return toAbove <= toCorner ? above : corner;
}

/**
 * The most frequent colours: first those that differ much from all chosen before, so that a small
 * green dot keeps its colour although there are many shades of grey at the edges of letters.
 */
function paletteOf({ bytes, depth }: Pixels): readonly number[] {
  const counts = new Map<number, number>();
  for (let at = 0; at < bytes.length; at += depth) {
    const color = bytes.readUIntBE(at, 3);
    counts.set(color, (counts.get(color) ?? 0) + 1);
  }
  const byCount = [...counts].sort(([, one], [, other]) => other - one);
  const chosen: number[] = [];
  for (const least of [1_200, 300, 60, 0]) {
    for (const [color] of byCount) {
      if (chosen.length === 256) return chosen;
      const channels = channelsOf(color);
      if (chosen.every((other) => distance(channels, channelsOf(other)) > least))
        chosen.push(color);
    }
  }
  return chosen;
}

function nearestIn(palette: readonly number[]): (color: number) => number {
  const known = new Map(palette.map((color, index) => [color, index]));
  const all = palette.map(channelsOf);
  return (color) => {
    const found = known.get(color);
    if (found !== undefined) return found;
    const channels = channelsOf(color);
    const distances = all.map((other) => distance(channels, other));
    const index = distances.indexOf(Math.min(...distances));
    known.set(color, index);
    return index;
  };
}

function channelsOf(color: number): Buffer {
  return Buffer.from([color >> 16, (color >> 8) & 255, color & 255]);
}

function distance(one: Buffer, other: Buffer): number {
  return one.reduce((sum, value, index) => sum + (value - (other[index] ?? 0)) ** 2, 0);
}
