// suite: search
/**
 * An upstream's text with a secret of the account, whole or twelve characters of it, is dropped;
 * every other text reaches the caller as it is.
 */
import { readdirSync, readFileSync } from 'node:fs';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { shownText } from '../../../src/stages/upstream/upstream-text.ts';
import { runsOf } from '../../support/sample.ts';
import { secretForms, showsSecret } from '../../support/secret-forms.ts';

/** Credentials by shape, and the beginning that all of their vendor's have. */
const credentials: Readonly<Record<string, readonly [prefix: string, rest: string]>> = {
  OpenAI: ['sk-proj-', 'Ab3dEf6hIj9kLm2nOp5qRs8tUv1wXy4zQw7eRt0y'],
  'OpenAI of before': ['sk-', 'Ab3dEf6hIj9kLm2nOp5qRs8tUv1wXy4z'],
  Anthropic: ['sk-ant-api03-', 'aB3-xY9_kL0paB3xY9kL0qaB3-xY9_kL0r-AA'],
  OpenRouter: ['sk-or-v1-', '0f3c9d2e8b7a6f5e4d3c2b1a09182736'],
  Groq: ['gsk_', 'Zx8cVb7nMa6sDf5gHj4kLq3wEr2t'],
  Google: ['AIzaSy', 'D9x8w7v6u5t4s3r2q1p0oNmLkJiHgFeDcB'],
  'a Google token': ['ya29.', 'a0AfB_byCk3x-Qw8rT.yU1iO_pAs-DfGhJkL.zXcVbNm_1234567890'],
  'a JWT': ['', 'eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.SflKxwRJSMeKKF2QT4fwpMeJf36P'],
  'a UUID': ['', '3f2504e0-4f89-41d3-9a0c-0305e82c3301'],
  Azure: ['', '0123456789abcdef0123456789ABCDEF'],
  Base64: ['', 'c2VjcmV0+LXRva2Vu/IHdpdGg9cGx1cyBz+bGFzaA=='],
  words: ['', 'correct-horse-battery-staple-garden-river'],
  punctuation: ['', 'a-b_c.d~e!f$g&h(i)j*k,l;m=n:o@p/q?r[s]t'],
};
const host = 'gpu7.lan';

const sentences: readonly ((word: string) => string)[] = [
  (word) => word,
  (word) => `Incorrect value ${word} given`,
  (word) => `{"error":"bad key","value":"${word}"}`,
  (word) => `${'The prompt is too long. '.repeat(400)}${word}`,
  (word) => `${word}${' and so on'.repeat(400)}`,
];

describe.each(Object.entries(credentials))('a credential of %s', (_shape, [prefix, rest]) => {
  const credential = `${prefix}${rest}`;
  const seen = (text: string, secrets: readonly string[]) => shownText(text, { secrets, host });

  it.each(Object.entries(secretForms))('%s: no text with it is shown', (_form, write) => {
    for (const sentence of sentences) {
      expect(seen(sentence(write(credential)), [credential])).toBe(undefined);
      expect(seen(sentence(write(credential)), ['other', `Bearer ${credential}`])).toBe(undefined);
    }
  });

  it.each(Object.entries(secretForms))('%s: nor one with a part of it', (form, write) => {
    fc.assert(
      fc.property(fc.nat(), fc.nat(), fc.constantFrom(...sentences), (at, more, sentence) => {
        // Of Base64, twelve characters are searched for: eleven of the secret at most.
        const least = form.startsWith('base64') ? 15 : 12;
        const from = at % (rest.length - least + 1);
        const part = rest.slice(from, from + least + (more % 8));

        expect(seen(sentence(write(part)), [credential])).toBe(undefined);
      }),
      { seed: 20261124, numRuns: runsOf(60) },
    );
  });

  it('its public beginning says nothing, nor do a few characters of it', () => {
    const text = `A key begins with ${prefix}, and yours ends with ${rest.slice(-8)}.`;

    expect(seen(text, [credential])).toBe(text);
  });
});

describe('of every text', () => {
  it('whatever it is, twelve characters of a secret are never shown', () => {
    const crumbs = [
      '%',
      '%41',
      '&#',
      '\uD800',
      '\uDC00',
      '0',
      'a',
      '\u0000',
      ' ',
      'Bearer ',
      'sk-',
    ];
    const crumbled = (maxLength: number) =>
      fc.array(fc.constantFrom(...crumbs), { maxLength }).map((pieces) => pieces.join(''));
    fc.assert(
      fc.property(crumbled(60), crumbled(12), (text, secret) => {
        const shown = shownText(`${text}${secret}`, { secrets: [secret], host }) ?? '';

        expect(shown.length >= 12 && secret.length >= 12 && shown.includes(secret)).toBe(false);
        expect(shown.isWellFormed()).toBe(true);
      }),
      { seed: 20261122, numRuns: runsOf(1_000) },
    );
  });

  it('a short secret is found as a whole', () => {
    for (const word of ['s3cr3t', Buffer.from('u:s3cr3t').toString('base64')]) {
      expect(shownText(`a ${word} b`, { secrets: ['s3cr3t'], host })).toBe(undefined);
    }
    expect(shownText('a s3cr b', { secrets: ['s3cr3t'], host })).toBe('a s3cr b');
    expect(shownText('No such model.', { secrets: [''], host })).toBe('No such model.');
  });

  it('the account’s host is found as a whole, in any case', () => {
    const seen = (text: string) => shownText(text, { secrets: [], host: 'api.example.com' });

    expect(seen('at https://API.example.com:8443/v1')).toBe(undefined);
    expect(seen('See https://docs.example.com/x')).toBe('See https://docs.example.com/x');
  });

  it('1,024 characters are shown, never half a character, and none that ends a line', () => {
    const account = { secrets: [], host };
    expect(shownText('a '.repeat(10_000), account)).toHaveLength(1_024);
    expect(shownText(`${'a'.repeat(1_023)}👍`, account)?.isWellFormed()).toBe(true);
    expect(shownText('a\u0000b\r\nc\u001b[31md\u2028e\u202Ef\u2066g\u200Eh\u061Ci', account)).toBe(
      'a b c [31md e f g h i',
    );
    expect(shownText(' \u0007\n', account)).toBe(undefined);
  });
});

describe('ordinary messages stay as they are', () => {
  const secrets = [
    ...Object.values(credentials).map((parts) => parts.join('')),
    ...['application/json', 'text/event-stream', 'prompt-caching-2024-07-31'],
  ];
  const fixtures = new URL('../../fixtures/', import.meta.url);
  const recorded = readdirSync(fixtures, { recursive: true, encoding: 'utf8' })
    .filter((path) => /\.response\.json$/.test(path))
    .flatMap((path) => messagesIn(readFileSync(new URL(path, fixtures), 'utf8')));

  it('in all recordings, next to secrets of each shape', () => {
    expect(recorded.length).toBeGreaterThan(8);
    for (const message of recorded) {
      expect(shownText(message, { secrets, host })).toBe(
        shownText(message, { secrets: [], host: 'other.lan' }),
      );
    }
  });

  it.each([
    "Item with id 'msg_0a1b2c3d4e5f60718293a4b5c6d7e8f90a1b2c3d4e5f6071' not found.",
    'Invalid image: iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk at position:12.',
    'No file at http://10.0.0.7:8080/x or file-abc of org-1a2b3c4d; got 2001:db8::1.',
    'This model’s maximum context length is 128000 tokens: you asked for 130000 (temperature 0.7).',
    'The correct battery of the horse was not stapled in the garden.',
    '100% of 50 %20 &amp; more, sk- and so on. Übergroße Anfrage – 请求过大 👩‍🚀',
  ])('%s', (text) => {
    expect(shownText(text, { secrets, host })).toBe(text);
  });
});

it('what the helper calls shown is what can be read', () => {
  const secret = 'q7Zp0fKd93LmXw2TtBv8';
  for (const write of Object.values(secretForms)) {
    expect(showsSecret(secret, `a "${write(secret)}" b`)).toBe(true);
  }
  expect(showsSecret(secret, 'q7Zp0fKd93L and Base64')).toBe(false);
});

function messagesIn(document: string): readonly string[] {
  const messages: string[] = [];
  JSON.parse(document, (name, value) => {
    if (name === 'message' && typeof value === 'string') messages.push(value);
    return value;
  });
  return messages;
}
