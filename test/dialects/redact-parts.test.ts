// suite: search
/**
 * No part of a credential that a person could use is left in an upstream's text: credentials of
 * many shapes, whole and in part, in each encoding, among words.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { redact } from '../../src/dialects/redact.ts';
import { encodings, shownOf } from '../support/encodings.ts';

const credentials = {
  OpenAI: 'sk-proj-Ab3dEf6hIj9kLm2nOp5qRs8tUv1wXy4zQw7eRt0y',
  Google: 'AIzaSyD9x8w7v6u5t4s3r2q1p0oNmLkJiHgFeDcB',
  'a Google token': 'ya29.a0AfB_byCk3x-Qw8rT.yU1iO_pAs-DfGhJkL.zXcVbNm_1234567890',
  'a JWT':
    'eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.SflKxwRJSMeKKF2QT4fwpMeJf36POk6yJV_adQ',
  'a UUID': '3f2504e0-4f89-41d3-9a0c-0305e82c3301',
  Azure: 'Qw8~Q.7yT_rE-4uI~oP.1aS-dF_3gH~jK.9lZ',
  Base64: 'c2VjcmV0+LXRva2Vu/IHdpdGg9cGx1cyBz+bGFzaA==',
  words: 'correct-horse-battery-staple-garden-river',
  digits: '90817263544536271809192837465564',
  slashes: 'aws4/AKIA/Wx7/Yt5/Rb3/Zq1/Lp9/Mn8',
  short: 'ab12cd34ef56gh',
  'lower-case letters': 'key_vdmugbkmjdrrnik',
  'short words': 'blue-green-red',
  punctuation: 'a-b_c.d~e!f$g&h(i)j*k,l;m=n:o@p/q?r[s]t',
};

/** What an upstream may repeat of a credential. */
const cuts: Readonly<Record<string, (secret: string) => readonly string[]>> = {
  whole: (secret) => [secret],
  'all but the first': (secret) => [secret.slice(1)],
  'all but the last': (secret) => [secret.slice(0, -1)],
  'all but the middle one': (secret) => [
    secret.slice(0, secret.length >> 1) + secret.slice((secret.length >> 1) + 1),
  ],
  'one more in the middle': (secret) => [
    `${secret.slice(0, secret.length >> 1)}X${secret.slice(secret.length >> 1)}`,
  ],
  head: (secret) => [secret.slice(0, Math.max(10, secret.length >> 1))],
  tail: (secret) => [secret.slice(-Math.max(10, secret.length >> 1))],
  'two halves': (secret) => [secret.slice(0, secret.length >> 1), secret.slice(secret.length >> 1)],
};

const sentences: readonly ((parts: readonly string[]) => string)[] = [
  (parts) => `Incorrect value: ${parts.join(' then ')} given`,
  (parts) => `{"error":"bad key","value":"${parts.join('", "rest":"')}"}`,
  (parts) => `${parts.join(' and ')} is invalid. Add a valid key, please.`,
];

describe.each(Object.entries(credentials))('of a credential of %s', (_, credential) => {
  it.each(Object.entries(cuts))('%s: no part is shown in any encoding', (_cut, cut) => {
    const allowed = Math.max(5, Math.min(7, Math.floor(credential.length / 2)));
    for (const [at, [name, encode]] of Object.entries(encodings).entries()) {
      // Encodings that shorten the secret themselves are for the whole one.
      if (/^(?:all|the) /.test(name)) continue;
      const text = sentences[at % sentences.length]?.(cut(credential).map(encode)) ?? '';

      const shown = redact(text, [credential, 'https://gpu7.example.com/v1']) ?? '';

      expect([name, shown, shownOf(credential, shown) <= allowed]).toEqual([name, shown, true]);
    }
  });
});

describe('ordinary messages stay as they are', () => {
  const fixtures = new URL('../fixtures/', import.meta.url);
  const recorded = readdirSync(fixtures, { recursive: true, encoding: 'utf8' })
    .filter((path) => /\.response\.json$/.test(path))
    .flatMap((path) => messagesIn(readFileSync(new URL(path, fixtures), 'utf8')));
  const headers = ['application/json', 'text/event-stream', 'prompt-caching-2024-07-31'];
  const secrets = [...Object.values(credentials), ...headers, 'production', 'key-authentication-1'];

  it('in all recordings, next to secrets of each shape', () => {
    expect(recorded.length).toBeGreaterThan(8);
    for (const message of recorded) {
      expect(redact(message, secrets)).toBe(redact(message, []));
    }
  });

  it.each([
    'The correct battery of the horse was not stapled in the garden.',
    'Prompt caching is not available for gpt-4o-mini-2024-07-18, only for text/plain.',
    'Authentication of the product failed: see application/xml, 12345, 0.7 and [1, 2, 3].',
    'top_k=40, top_p=0.95 and \\n are not valid; 100 of 115 107 tokens were used.',
  ])('%s', (text) => {
    expect(redact(text, secrets)).toBe(text);
  });
});

function messagesIn(document: string): readonly string[] {
  const messages: string[] = [];
  JSON.parse(document, (name, value) => {
    if (name === 'message' && typeof value === 'string') messages.push(value);
    return value;
  });
  return messages;
}
