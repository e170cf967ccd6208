// suite: slow
/** Inspecting a streamed JSON reply, for any chunks. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  type JsonWatchOptions,
  type JsonWatchReport,
  jsonWatch,
} from '../../src/bytes/json/stream/watch.ts';
import { isJsonObject, items, type JsonValue, member, parseJson } from '../../src/json.ts';
import { jsonText, objectText, often } from './json-arbitrary.ts';

const options: JsonWatchOptions = {
  capture: ['usage', 'error', 'a', 'model', '__proto__'],
  countIn: { array: 'data', member: 'b64_json' },
};

describe('a watched reply', () => {
  it('is reported with the contents of an image reply', () => {
    const report = watched(
      '{"created":1,"data":[{"b64_json":"AAAA"},{"url":"x"},{"b64_json":null},' +
        '{"revised_prompt":"b64_json","b64_json":"BB\\/="},"b64_json",["b64_json"]],' +
        '"usage":{"input_tokens":12345678901234567890, "x":"}"}}\n',
    );

    expect(report).toEqual({
      complete: true,
      captured: { usage: '{"input_tokens":12345678901234567890, "x":"}"}' },
      elements: 6,
      counted: 2,
      depth: 0,
      betweenElements: false,
      commaDue: false,
    });
  });

  it('has the same report for any chunks', () => {
    const text =
      '[{"us\\u0061ge":{"n":1.0},"data":[{"b64_json":"\\"\\\\"},{"a":[{"b64_json":"x"}]}],' +
      `"error":"${'é\\u00e9'.repeat(20)}"},\n{"usage": -1.5e3 ,"s":"${'x'.repeat(150)}\\""} ] `;
    const bytes = Buffer.from(text);
    const whole = jsonWatch(options);
    whole.write(bytes);

    expect(whole.end().captured).toMatchObject({ usage: '-1.5e3' });
    for (let cut = 0; cut <= bytes.length; cut += 1) {
      expect(chunked([bytes.subarray(0, cut), bytes.subarray(cut)])).toEqual(whole.end());
    }
    expect(chunked(bytes.toString('latin1').split('').map(latin1))).toEqual(whole.end());
  });

  it('has the same report at every byte, for any chunks before it', () => {
    const sizes = fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 1 });
    const noise = fc.constantFrom('', '', ']', '}', ',', ':', '"', '\\', '1', '{');

    fc.assert(
      fc.property(reply, sizes, fc.nat(), noise, (text, lengths, end, rest) => {
        const all = Buffer.from(text + rest);
        const bytes = all.subarray(0, all.length - (end % 5));

        expect(chunked(cut(bytes, lengths))).toEqual(chunked([bytes]));
      }),
      often,
    );
  });

  it('has the same members for any chunks when its numbers are skipped', () => {
    const sizes = fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 1 });
    const vector = fc
      .array(fc.constantFrom('1', '-0.5e-3', 'null', '[2, 3]', '"]"', '{"a":1}', '[]'))
      .map((values) => `[ ${values.join(' ,\n')} ]`);
    const element = vector.map((values) => `{"index":0,"embedding":${values}}`);
    const document = fc
      .tuple(fc.array(element, { maxLength: 4 }), vector, fc.nat(9))
      .map(
        ([data, values, tokens]) =>
          `{"values":${values},"data":[${data.join(', ')}],"usage":{"n":${tokens}}} `,
      );
    const skipping = { capture: ['usage'], countIn: { array: 'data', member: 'a' } };

    fc.assert(
      fc.property(document, sizes, fc.nat(), (text, lengths, end) => {
        const bytes = Buffer.from(text);
        const begun = bytes.subarray(0, end % (bytes.length + 1));
        for (const part of [bytes, begun]) {
          const plain = chunked([part], skipping);
          for (const chunks of [[part], cut(part, lengths)]) {
            const found = chunked(chunks, { ...skipping, skipsNumbers: true });

            expect(found.captured).toEqual(plain.captured);
            expect([found.complete, found.elements]).toEqual([plain.complete, plain.elements]);
          }
        }
      }),
      often,
    );
  });

  it('is complete only if it is one closed JSON value', () => {
    fc.assert(
      fc.property(fc.oneof(jsonText, reply), fc.nat(), (text, place) => {
        const bytes = Buffer.from(text.trim());

        expect(chunked([bytes]).complete).toBe(true);
        if (/^[[{]/.test(text.trim())) {
          expect(chunked([bytes.subarray(0, place % bytes.length)]).complete).toBe(false);
        }
      }),
      often,
    );
  });

  it('has the members that JSON.parse would return', () => {
    fc.assert(
      fc.property(reply, (text) => {
        const value: JsonValue = JSON.parse(text);
        const holders = Array.isArray(value) ? items(value) : [value];
        const last = (name: string) =>
          holders.filter((holder) => isJsonObject(holder) && Object.hasOwn(holder, name)).at(-1);

        const { captured, elements, counted } = chunked([Buffer.from(text)]);

        for (const name of options.capture ?? []) {
          const own = Object.hasOwn(captured, name) ? captured[name] : undefined;
          expect(own && parseJson(own)).toEqual(member(last(name), name));
        }
        const data = items(member(last('data'), 'data'));
        const images = data.filter((image) => typeof member(image, 'b64_json') === 'string');
        expect({ elements, counted }).toEqual({ elements: data.length, counted: images.length });
      }),
      often,
    );
  });

  it.each([
    '',
    ' ',
    '{',
    '{"a":1',
    '{"a":[}',
    '{"a":1}}',
    '{"a":1} x',
    '{"a":1}{}',
    '[1,]',
    '{"a":1,}',
    '{"a"}',
    '{"a":}',
    '{a:1}',
    '{"a":"b}',
    '{"a":"\\"}',
    '[1 2]',
    '[:]',
    '\xef\xbb\xbf{}',
    `${'['.repeat(1025)}${']'.repeat(1025)}`,
  ])('%s is not complete', (text) => {
    expect(chunked([Buffer.from(text)]).complete).toBe(false);
  });

  it('captures no text above the limit, in one chunk or several', () => {
    const text = '{"usage":"0123456789","error":"01234567"}';
    const limited = { ...options, captureLimitBytes: 10 };
    const pieces = latin1Pieces(text);

    expect(chunked([Buffer.from(text)], limited).captured).toEqual({ error: '"01234567"' });
    expect(chunked(pieces, limited).captured).toEqual({ error: '"01234567"' });
  });

  it('drops an earlier member if a later one of the same name is too long', () => {
    const limited = { ...options, captureLimitBytes: 3 };

    expect(watched('{"usage":1,"usage":12345}', limited).captured).toEqual({});
  });

  it('restarts the count at a second array of the same name', () => {
    const data = '"data":[{"b64_json":""},{}]';

    expect(watched(`{${data},${data}}`)).toMatchObject({ elements: 2, counted: 1 });
    expect(watched(`{${data},"data":1}`)).toMatchObject({ elements: 0, counted: 0 });
  });

  it('counts the complete elements of an incomplete reply', () => {
    expect(watched('{"data":[{"b64_json":"AA"},{"b64_json":"BB"},{"b64_json":"CC')).toMatchObject({
      complete: false,
      elements: 2,
      counted: 2,
    });
  });

  it('keeps the text of a chunk whose memory is reused', () => {
    const watch = jsonWatch(options);
    const chunk = Buffer.from('{"usage":{"n":1');

    watch.write(chunk);
    chunk.fill(0x20);
    watch.write(Buffer.from('23}}'));

    expect(watch.end().captured).toEqual({ usage: '{"n":123}' });
  });

  it.each<readonly [string, boolean, boolean]>([
    ['[', true, false],
    ['[{}', true, true],
    ['[{} ', true, true],
    ['[{},\n', true, false],
    ['[{', false, false],
    ['[{"a":1', false, false],
    ['["a', false, false],
    ['[1', false, false],
    ['[{}]', false, false],
    ['[}', false, false],
    ['{"a":[', false, false],
    ['', false, false],
  ])('%s can take another element: %s, after a comma: %s', (text, between, due) => {
    expect(watched(text)).toMatchObject({ betweenElements: between, commaDue: due });
  });
});

const members = objectText.map((text) => text.trim().slice(1, -1));

const image = fc.oneof(
  jsonText,
  fc.constantFrom('{"b64_json":"A"}', '{ "b64_\\u006ason" : "" }', '{"b64_json":null}', '{}'),
);

const holder = fc
  .tuple(members, fc.array(image, { maxLength: 4 }), jsonText, fc.boolean())
  .map(([rest, images, usage, first]) => {
    const own = `"data":[${images.join(' ,')}],"usage": ${usage} `;
    if (rest.trim() === '') return `{${own}}`;
    return first ? `{${own},${rest}}` : `{${rest},${own}}`;
  });

const reply = fc.oneof(
  holder,
  fc.array(fc.oneof(holder, jsonText), { maxLength: 4 }).map((all) => `[ ${all.join(' ,\n')}]`),
);

function watched(text: string, of: JsonWatchOptions = options): JsonWatchReport {
  return chunked([Buffer.from(text)], of);
}

function chunked(chunks: readonly Uint8Array[], of: JsonWatchOptions = options): JsonWatchReport {
  const watch = jsonWatch(of);
  for (const chunk of chunks) watch.write(chunk);
  return watch.end();
}

function cut(bytes: Uint8Array, lengths: readonly number[]): readonly Uint8Array[] {
  const chunks: Uint8Array[] = [];
  for (let at = 0; at < bytes.length; ) {
    const length = lengths[chunks.length % lengths.length] ?? 1;
    chunks.push(bytes.subarray(at, at + length));
    at += length;
  }
  return chunks;
}

function latin1(character: string): Uint8Array {
  return Buffer.from(character, 'latin1');
}

function latin1Pieces(text: string): readonly Uint8Array[] {
  return text.split('').map(latin1);
}
