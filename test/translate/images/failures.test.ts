// suite: quick
/** Replies of Google’s image models without an image, and error bodies with status 200. */
import { describe, expect, it } from 'vitest';
import { fixture, fixtures } from '../../support/recorded/fixtures.ts';
import { answerOf, freshTap, imagesIn, translated } from './translated.ts';

describe('a reply without an image', () => {
  const withheld = {
    status: 400,
    code: 'moderation_blocked',
    message: "The image was withheld by the model's provider.",
  };
  const blocked = { ...withheld, message: "The prompt was blocked by the model's provider." };
  const none = { status: 502, reason: 'upstream_no_image', message: undefined };

  it.each([
    ['gemini/f-prompt-blocked-message', blocked],
    ['gemini/f-prompt-blocked-unknown', blocked],
    ['gemini/f-safety-no-content', withheld],
    ['gemini/f-finish-message-no-content', none],
    ['gemini/f-only-prompt-feedback', none],
    ['gemini/f-empty-content', none],
    ['gemini/basic.1', none],
  ])('%s gives the reason', (name, expected) => {
    const { out, complete, failure } = translated(
      Buffer.from(fixture(name).response).toString('utf8'),
    );

    expect(failure).toMatchObject(expected);
    expect({ out, complete }).toEqual({ out: '', complete: false });
  });

  it.each([
    ['IMAGE_SAFETY', withheld],
    ['IMAGE_PROHIBITED_CONTENT', withheld],
    ['PROHIBITED_CONTENT', withheld],
    ['RECITATION', withheld],
    ['NO_IMAGE', none],
    ['IMAGE_OTHER', none],
    ['STOP', none],
  ])('with the finish %s is reported accordingly', (reason, expected) => {
    const text = JSON.stringify({
      candidates: [{ finishReason: reason, finishMessage: 'secret words' }],
    });

    const { failure } = translated(text);

    expect(failure).toMatchObject(expected);
    expect(JSON.stringify(failure)).not.toContain('secret');
  });

  it('still has usage', () => {
    const { usage } = translated(
      Buffer.from(fixture('gemini/f-safety-no-content').response).toString('utf8'),
    );

    expect(usage).toMatchObject({ inputTokens: 8, outputTokens: 0, images: 0 });
  });

  it('fails only at its end, wherever it is split', () => {
    const text = '{"promptFeedback":{"blockReason":"SAFETY"}}';
    const tap = freshTap();

    tap.write(Buffer.from(text));

    expect(tap.failure()).toBeUndefined();
    tap.end();
    expect(tap.failure()).toMatchObject(blocked);
  });
});

describe('an error body with status 200', () => {
  const errors = fixtures('gemini').filter(({ status, streamed }) => status >= 400 && !streamed);

  it.each(
    errors.map(({ name, response }) => [name, Buffer.from(response).toString('utf8')]),
  )('is reported as %s, also in an array', (_name, text) => {
    const { error } = JSON.parse(text);

    for (const document of [text, `[${text}]`]) {
      const { out, complete, failure } = translated(document);
      expect(failure).toMatchObject({ status: error.code, message: error.message });
      expect({ out, complete }).toEqual({ out: '', complete: false });
    }
  });

  it('is reported without its message if it is too long to read', () => {
    const text = JSON.stringify({ error: { code: 400, message: 'x'.repeat(20_000) } });

    expect(translated(text).failure).toMatchObject({ status: 502, reason: 'upstream_error' });
  });

  it('ends an image that had begun', () => {
    const text = answerOf('{"inlineData":{"data":"AAAA"}}').replace(
      /\}$/,
      ',"error":{"code":503}}',
    );
    const at = text.indexOf('"error"');

    const { out, complete, failure } = translated(text, [at]);

    expect(out).toBe('{"created":1700000000,"data":[{"b64_json":"AAAA"}');
    expect({ complete, failure }).toMatchObject({ complete: false, failure: { status: 503 } });
    expect(translated(text).out).toBe('');
  });

  it('is not one if the error is null', () => {
    const text = answerOf('{"inlineData":{"data":"AAAA"}}').replace('{', '{"error":null,');

    expect(imagesIn(text)).toEqual(['AAAA']);
  });

  it('is also an image whose type turns out to be another one', () => {
    const text = answerOf('{"inlineData":{"data":"AAAA","mimeType":"audio/wav"}}');

    expect(translated(text)).toMatchObject({
      complete: false,
      failure: { status: 502, reason: 'upstream_no_image' },
    });
  });
});
