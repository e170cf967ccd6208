/**
 * Contents of replies that are made for the request: a value that fits a JSON schema, and a valid
 * PNG, small enough to compress synchronously.
 */

import { crc32, deflateSync } from 'node:zlib';
import { isJsonObject, items, type JsonObject, type JsonValue, member } from '../../json.ts';

const maxDepth = 10;
const maxLength = 1000;

/**
 * A value for the common shapes: types (Google's upper case too), `properties`, `items`, `enum`,
 * `const`, `anyOf`, `oneOf` and local `$ref`. Objects get their required properties, or all
 * properties where none is required. Other keywords are ignored.
 */
export function sampleOf(schema: JsonValue | undefined): JsonValue {
  return sample(schema, schema, 0);
}

function sample(
  schema: JsonValue | undefined,
  root: JsonValue | undefined,
  depth: number,
): JsonValue {
  if (depth > maxDepth || !isJsonObject(schema)) return null;
  const target = member(schema, '$ref');
  if (typeof target === 'string') return sample(resolve(target, root), root, depth + 1);
  const constant = member(schema, 'const') ?? items(member(schema, 'enum'))[0];
  if (constant !== undefined) return constant;
  const branch = items(member(schema, 'anyOf') ?? member(schema, 'oneOf'))[0];
  if (branch !== undefined) return sample(branch, root, depth + 1);

  switch (typeOf(schema)) {
    case 'object':
      return sampleObject(schema, root, depth);
    case 'array':
      return sampleArray(schema, root, depth);
    case 'string':
      return 'sample'.padEnd(atLeast(member(schema, 'minLength')), '.');
    case 'integer':
    case 'number':
      return member(schema, 'minimum') ?? 1;
    case 'boolean':
      return true;
    default:
      return null;
  }
}

function typeOf(schema: JsonObject): string {
  const declared = member(schema, 'type');
  const first = Array.isArray(declared) ? items(declared)[0] : declared;
  if (typeof first === 'string') return first.toLowerCase();
  return member(schema, 'properties') === undefined ? 'null' : 'object';
}

function sampleObject(schema: JsonObject, root: JsonValue | undefined, depth: number): JsonObject {
  const properties = member(schema, 'properties');
  const required = items(member(schema, 'required')).filter((name) => typeof name === 'string');
  const names =
    required.length > 0 ? required : Object.keys(isJsonObject(properties) ? properties : {});
  return Object.fromEntries(
    names.map((name) => [name, sample(member(properties, name), root, depth + 1)]),
  );
}

function sampleArray(
  schema: JsonObject,
  root: JsonValue | undefined,
  depth: number,
): readonly JsonValue[] {
  const length = Math.max(1, atLeast(member(schema, 'minItems')));
  const item = sample(member(schema, 'items'), root, depth + 1);
  return Array.from({ length }, () => item);
}

/** A lower bound, capped, since a schema may ask for a billion. */
function atLeast(bound: JsonValue | undefined): number {
  return typeof bound === 'number' ? Math.min(bound, maxLength) : 0;
}

function resolve(target: string, root: JsonValue | undefined): JsonValue | undefined {
  const [hash, ...names] = target.split('/');
  if (hash !== '#') return undefined;
  return names.reduce<JsonValue | undefined>((value, name) => member(value, name), root);
}

/** Pieces of a few characters, as models stream JSON. */
export function fragments(text: string): readonly string[] {
  return text.match(/.{1,6}/gsu) ?? [];
}

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
