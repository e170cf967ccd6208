/** Plants a large value at every place of a body, one at a time. */
import { isJsonObject, items, type JsonObject, type JsonValue } from '../../src/json.ts';

/** A body with a planted value, and the place of that value. */
export interface Planted {
  readonly at: string;
  readonly body: JsonValue;
}

/** 100 KB of one kind of JSON value. */
export interface Plant {
  readonly what: string;
  /** Replaces a value, and is added to arrays. */
  readonly value: JsonValue;
  /** Added to objects as members. */
  readonly members: JsonObject;
}

const size = 100_000;
const words = 'the quick brown fox jumps over the lazy dog, ';
const text = words.repeat(Math.ceil(size / words.length));
/** Twice as long when escaped in a body, and four times as long in JSON within JSON. */
const quotes = '"\n'.repeat(size / 4);
const numbers = Array.from({ length: size / 10 }, (_, index) => 1_000_000_000 + index);

/** Base64, which counts as text wherever no provider reads it as an image or a signature. */
const base64 = 'iVBORw0KGgo'.padEnd(size, 'A');
const image = { type: 'image_url', image_url: { url: `data:image/png;base64,${base64}` } };
const blob = { inlineData: { mimeType: 'image/png', data: base64 } };
const inputImage = { type: 'input_image', image_url: `data:image/png;base64,${base64}` };
const imageBlock = {
  type: 'image',
  source: { type: 'base64', media_type: 'image/png', data: base64 },
};
const thought = { type: 'thinking', thinking: '', signature: base64 };
const sealedItem = { type: 'reasoning', summary: [], encrypted_content: base64 };
const encrypted = { type: 'reasoning.encrypted', data: base64, signature: base64 };

/** All planted values. */
export const plants: readonly Plant[] = [
  { what: 'text', value: text, members: { planted: text } },
  { what: 'quotes', value: quotes, members: { planted: quotes } },
  { what: 'numbers', value: numbers, members: { planted: numbers } },
  {
    what: 'names',
    value: { [text.slice(0, 4_000)]: 1, planted: named() },
    members: named(),
  },
  { what: 'an image part', value: image, members: { planted: image, images: image } },
  { what: 'image parts', value: [[image]], members: { planted: [image] } },
  { what: 'inline data', value: blob, members: { planted: blob } },
  { what: 'lists of inline data', value: [[blob]], members: { planted: [blob] } },
  { what: 'an input image', value: inputImage, members: { planted: inputImage } },
  { what: 'input images', value: [[inputImage]], members: { planted: [inputImage] } },
  { what: 'image blocks', value: [[imageBlock]], members: { planted: [imageBlock] } },
  { what: 'an image block', value: imageBlock, members: { ...imageBlock, planted: imageBlock } },
  { what: 'signed thinking', value: thought, members: { ...thought, planted: [thought] } },
  { what: 'an encrypted item', value: sealedItem, members: { ...sealedItem, planted: sealedItem } },
  { what: 'encrypted reasoning', value: encrypted, members: { planted: [encrypted] } },
];

/** Plants at every place of a body: each value is replaced, and each container gets one more. */
export function* planted(body: JsonValue, plant: Plant, at = ''): Generator<Planted> {
  if (at !== '') yield { at, body: plant.value };
  if (Array.isArray(body)) {
    const list = items(body);
    yield { at: `${at}[+]`, body: [...list, plant.value] };
    for (const [index, item] of list.entries()) {
      for (const inner of planted(item, plant, `${at}[${index}]`)) {
        yield { at: inner.at, body: list.with(index, inner.body) };
      }
    }
  } else if (isJsonObject(body)) {
    yield { at: `${at}.+`, body: { ...body, ...plant.members } };
    for (const [name, value] of Object.entries(body)) {
      for (const inner of planted(value, plant, `${at}.${name}`)) {
        yield { at: inner.at, body: { ...body, [name]: inner.body } };
      }
    }
  }
}

function named(): JsonObject {
  const names = Array.from({ length: 25 }, (_, index) => `${index} ${text.slice(0, 4_000)}`);
  return Object.fromEntries(names.map((name) => [name, 0]));
}
