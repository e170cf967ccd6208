// suite: quick
/** Google’s images are converted to the images protocol. */
import { createHash } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { fixture } from '../../support/recorded/fixtures.ts';
import { answerOf, freshTap, imagesIn, translated } from './translated.ts';

const recorded = Buffer.from(fixture('gemini/image-out.1').response).toString('utf8');
const [, axolotl = ''] = /"data": "([^"]+)"/.exec(recorded) ?? [];
/** The recording with its image cut to the first bytes. */
const small = recorded.replace(axolotl, axolotl.slice(0, 64));
const smallDocument = {
  created: 1_700_000_000,
  data: [{ b64_json: axolotl.slice(0, 64) }],
  usage: {
    input_tokens: 9,
    output_tokens: 1290,
    total_tokens: 1299,
    input_tokens_details: { text_tokens: 9, image_tokens: 0 },
  },
};

describe('an image from Google', () => {
  it('becomes a document of the images protocol with its usage', () => {
    const { out, complete, failure, usage } = translated(recorded);

    expect(JSON.parse(out)).toEqual({ ...smallDocument, data: [{ b64_json: axolotl }] });
    expect(Object.keys(JSON.parse(out))).toEqual(['created', 'data', 'usage']);
    expect({ complete, failure }).toEqual({ complete: true, failure: undefined });
    expect(usage).toMatchObject({
      inputTokens: 9,
      cachedInputTokens: 0,
      outputTokens: 1290,
      imageOutputTokens: 1290,
      images: 1,
    });
  });

  it('is the same wherever its document is split', () => {
    const whole = translated(small);

    expect(JSON.parse(whole.out)).toEqual(smallDocument);
    for (let cut = 0; cut <= small.length; cut += 1) {
      expect(translated(small, [cut])).toEqual(whole);
    }
    expect(
      translated(
        small,
        [...small].map((_, index) => index),
      ),
    ).toEqual(whole);
  });

  it('is the same however often the recording is split', () => {
    const whole = translated(recorded);
    const cuts = fc.array(fc.nat(recorded.length), { maxLength: 40 });

    fc.assert(
      fc.property(cuts, (at) => {
        expect(translated(recorded, at).out === whole.out).toBe(true);
      }),
      { numRuns: 60 },
    );
  });

  it('is passed on immediately, and 20 MB of it are never buffered', () => {
    const tap = freshTap();
    const chunk = Buffer.alloc(65_536, 'iVBORw0KGgoAAAANSUhEUgAA');
    const [before = '', after = ''] = recorded.split(axolotl);
    const hash = createHash('sha256');
    const sent = createHash('sha256');
    let held = 0;
    let longest = 0;

    const head = Buffer.from(tap.write(Buffer.from(before))).toString();
    for (let count = 0; count < 320; count += 1) {
      const passed = tap.write(chunk);
      held += chunk.length - passed.length;
      longest = Math.max(longest, Math.abs(held), passed.length - chunk.length);
      sent.update(chunk);
      hash.update(count === 0 ? passed.subarray(passed.indexOf(0x69)) : passed);
      if (count === 0) {
        // The document's start is written with the first bytes of the image, not before.
        const opening = '{"created":1700000000,"data":[{"b64_json":"';
        expect(Buffer.from(passed).toString('latin1', 0, opening.length)).toBe(opening);
      }
    }
    const tail = [tap.write(Buffer.from(after)), tap.end()].map(String).join('');

    expect(head).toBe('');
    expect(longest).toBeLessThan(64);
    expect(Buffer.from(tail, 'latin1').length).toBeLessThan(512);
    expect(tap.complete()).toBe(true);
    expect(hash.digest('hex')).toBe(sent.digest('hex'));
  });

  it('is found under escaped names, in camelCase and snake_case', () => {
    const names = ['"inlineData"', '"inlineDat\\u0061"', '"inline_data"', '"\\u0069nline_data"'];
    const parts = names.map((name, index) => `{${name}:{"d\\u0061ta":"AAA${index}"}}`);

    expect(imagesIn(answerOf(...parts))).toEqual(['AAA0', 'AAA1', 'AAA2', 'AAA3']);
  });

  it('is found wherever its type is, and whatever other members there are', () => {
    const text = answerOf(
      '{"text":"Here it is: {\\"inlineData\\":{\\"data\\":\\"no\\"}}"}',
      '{"inlineData":{"mimeType":"image/png","data":"AAAA"},"thoughtSignature":"s"}',
      '{"thoughtSignature":"s","inline_data":{"data":"BBBB","mime_type":"IMAGE/JPEG"}}',
      '{"inlineData":{"x":{"data":"no","mimeType":"text/plain"},"data":"CCCC","mimeType":null}}',
    );

    expect(imagesIn(text)).toEqual(['AAAA', 'BBBB', 'CCCC']);
  });

  it('is found in every candidate, and after usage and finish', () => {
    const candidate = (data: string) =>
      `{"finishReason":"STOP","content":{"parts":[{"inlineData":{"data":"${data}"}}]}}`;
    const text =
      '{"usageMetadata":{"promptTokenCount":2,"candidatesTokenCount":3,"thoughtsTokenCount":4},' +
      `"candidates":[${candidate('AAAA')},${candidate('BBBB')}]}`;

    const { out, usage } = translated(text);

    expect(JSON.parse(out)).toMatchObject({
      data: [{ b64_json: 'AAAA' }, { b64_json: 'BBBB' }],
      usage: { input_tokens: 2, output_tokens: 7, total_tokens: 9 },
    });
    expect(usage).toMatchObject({ outputTokens: 7, images: 2 });
  });

  it('keeps its value if it is written with escapes', () => {
    const text = answerOf('{"inlineData":{"data":"\\/9j\\/4\\u002bA="}}');

    for (let cut = 0; cut <= text.length; cut += 1) {
      expect(JSON.parse(translated(text, [cut]).out).data).toEqual([{ b64_json: '/9j/4+A=' }]);
    }
  });

  it('is not taken from a draft, another media type, or another member', () => {
    const text = answerOf(
      '{"thought":true,"inlineData":{"mimeType":"image/png","data":"draft"}}',
      '{"thought":false,"inlineData":{"mimeType":"image/png","data":"AAAA"}}',
      '{"inlineData":{"mimeType":"audio/wav","data":"sound"}}',
      '{"inlineData":{"mimeType":"image/png","data":""}}',
      '{"inlineData":{"mimeType":"image/png","data":null}}',
      '{"inlineData":"data","data":"no"}',
      '{"fileData":{"mimeType":"image/png","data":"no"}}',
    ).replace('{"candidates"', '{"inlineData":{"data":"no"},"candidates"');

    expect(imagesIn(text)).toEqual(['AAAA']);
  });

  it('is one if its data is repeated', () => {
    expect(imagesIn(answerOf('{"inlineData":{"data":"AAAA","data":"BBBB"}}'))).toEqual(['AAAA']);
  });

  it('is counted if Google states no usage, which is then left out', () => {
    const { out, usage, countedTokens } = translated(answerOf('{"inlineData":{"data":"AAAA"}}'));

    expect(out).toBe('{"created":1700000000,"data":[{"b64_json":"AAAA"}]}');
    expect(usage).toBeUndefined();
    expect(countedTokens).toBe(1290);
  });

  it('is incomplete until its document is complete', () => {
    const last = small.trimEnd().length;

    for (let end = 0; end < last; end += 1) {
      const { out, complete, failure } = translated(small.slice(0, end));
      expect({ complete, failure }).toEqual({ complete: false, failure: undefined });
      expect(() => JSON.parse(out)).toThrow();
    }
    expect(translated(`${small}}`).complete).toBe(false);
  });

  it('is followed by nothing after the end', () => {
    const tap = freshTap();
    tap.write(Buffer.from(small));
    tap.end();

    expect(tap.end()).toHaveLength(0);
    expect(tap.finished()).toBe(false);
  });
});
