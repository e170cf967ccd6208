// suite: quick
/**
 * A guard that reads `texts()` sees every text that a model may see: as it is, and in each encoding
 * that a translation or a provider decodes, at any place and inside of one another.
 */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { JsonValue } from '../../../src/json.ts';
import { textsOf } from '../../../src/stages/guard.ts';
import { sampleRequests } from '../../support/models.ts';
import { guarded } from './guarded-gateway.ts';

const text = fc
  .string({ unit: 'grapheme', minLength: 6, maxLength: 40 })
  .filter((one) => one.isWellFormed() && !one.startsWith('\ufeff'));

type Encoding = (text: string) => string;
const base64 = (one: string): string => Buffer.from(one).toString('base64');
/** Every character as an escape. */
const escaped = (one: string): string => {
  const units = one.split('').map((unit) => unit.charCodeAt(0).toString(16).padStart(4, '0'));
  return `"${units.map((unit) => `\\u${unit}`).join('')}"`;
};
const encodings: Readonly<Record<string, Encoding>> = {
  'JSON of arguments': (one) => ` {"a":[1,{"b":${escaped(one)}}]}`,
  'a JSON string': (one) => escaped(one),
  Base64: base64,
  'Base64 in lines': (one) => base64(one).replace(/(.{6})/g, '$1\r\n'),
  'the alphabet of URLs': (one) => Buffer.from(one).toString('base64url'),
  'a data URL': (one) => `data:text/plain;charset=utf-8;base64,${base64(one)}`,
  'a data URL without a type': (one) => `DATA:;base64,${base64(one)}`,
  'a data URL with escapes': (one) => `data:text/html,${encodeURIComponent(one)}`,
  'a long file': (one) => base64(`${'Ünd so weiter. '.repeat(1_000)}${one}`),
};

/** Where the APIs have texts, files and arguments. */
const places: readonly ((text: string) => JsonValue)[] = [
  (one) => ({ messages: [{ role: 'user', content: one }] }),
  (one) => ({ messages: [{ content: [{ type: 'file', file: { file_data: one } }] }] }),
  (one) => ({ messages: [{ tool_calls: [{ function: { name: 'f', arguments: one } }] }] }),
  (one) => ({ input: [{ type: 'function_call_output', output: one }] }),
  (one) => ({ content: [{ type: 'document', source: { media_type: 'text/plain', data: one } }] }),
  (one) => ({ contents: [{ parts: [{ inlineData: { mimeType: 'text/csv', data: one } }] }] }),
];

describe('texts', () => {
  it.each(Object.entries(encodings))('that are %s', (_name, encode) => {
    fc.assert(
      fc.property(text, fc.constantFrom(...places), (one, place) => {
        expect(textsOf(place(encode(one))).some((found) => found.includes(one))).toBe(true);
      }),
      { numRuns: 100 },
    );
  });

  it('that are encoded several times', () => {
    // What is inside of prose is no longer found as JSON.
    const { 'a long file': _, ...whole } = encodings;
    const layers = fc.array(fc.constantFrom(...Object.values(whole)), { maxLength: 4 });
    fc.assert(
      fc.property(text, layers, fc.constantFrom(...places), (one, encode, place) => {
        const hidden = encode.reduce((inside, layer) => layer(inside), one);
        expect(textsOf(place(hidden)).some((found) => found.includes(one))).toBe(true);
      }),
      { numRuns: 300 },
    );
  });

  it('are every string as it is, and nothing of the content of images', () => {
    fc.assert(
      fc.property(
        fc.array(text),
        fc.uint8Array({ minLength: 20, maxLength: 9_000 }),
        (all, bytes) => {
          const image = Buffer.from([0x89, 0x50, 0x4e, 0x47, ...bytes]).toString('base64');
          const body = [...all, image, `data:image/png;base64,${image}`];

          const found = textsOf(body);

          for (const one of body) expect(found).toContain(one);
          expect(found.join('')).not.toContain('PNG');
        },
      ),
      { numRuns: 100 },
    );
  });
});

it('are what a guard gets, once', async () => {
  const { call, seen } = guarded('chat');
  await call(sampleRequests.chat);

  const [first] = seen;
  expect(first?.texts()).toContain('hi');
  expect(first?.texts()).toBe(first?.texts());
});
