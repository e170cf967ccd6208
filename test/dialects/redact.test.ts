// suite: search
/** Upstream texts reach a caller without credentials, addresses and control characters. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { redact } from '../../src/dialects/redact.ts';
import { encodings, shownOf } from '../support/encodings.ts';

const secrets = ['s3cr3t', 'https://gpu7.lan:8443/v1'];

describe('redact removes', () => {
  it.each([
    ['the account’s secret', 's3cr3t'],
    ['the channel’s address', 'https://gpu7.lan:8443/v1'],
    ['its host with port', 'gpu7.lan:8443'],
    ['its host', 'gpu7.lan'],
    ['OpenAI’s keys', 'sk-proj-abcDEF123_456-789'],
    ['OpenAI’s masked keys', 'sk-proj-abc***...**xyz'],
    ['Google’s keys', 'AIzaSyA-1234567890_abcdef'],
    ['Google’s tokens', 'ya29.a0AfH6SMBx-y_z'],
    ['bearer tokens', 'Bearer eyJhbGciOi.J9.abc'],
    ['keys of letters and digits', '0123456789abcdef0123456789ABCDEF'],
    ['organisations', 'org-1a2b3c4d'],
    ['projects', 'projects/my-project-1'],
    ['URLs', 'http://user:pw@10.1.2.3:8080/x?key=1'],
    ['URLs of any scheme', 'postgres://db/x'],
    ['hosts', 'api.openai.com'],
    ['hosts with port', 'vllm.svc.cluster.local:8000'],
    ['hosts without a domain', 'gpu-7:8000'],
    ['localhost', 'localhost:11434'],
    ['IPv4 addresses', '10.0.0.7'],
    ['IPv4 addresses with port', '127.0.0.1:8080'],
    ['IPv6 addresses', '[2001:db8::1]:443'],
    ['IPv6 addresses without brackets', '2001:db8::1'],
    ['IPv6 addresses as Node writes them', '::1:11434'],
    ['full IPv6 addresses', '2001:db8:0:0:0:0:0:1'],
  ])('%s', (_, word) => {
    for (const text of [
      `before ${word} after`,
      `before "${word}" after`,
      `before (${word}) after`,
    ]) {
      const shown = redact(text, secrets);

      expect(shown).not.toContain(word);
      expect(shown).toMatch(/^before .*\[redacted\].* after$/);
    }
  });

  it('characters that could end a line or reverse text', () => {
    expect(redact('a\u0000b\r\nc\u001b[31md\u2028e\u202Ef\u2066g\u200Eh\u061Ci', [])).toBe(
      'a b c [31md e f g h i',
    );
  });

  it('the whole text if nothing else is left', () => {
    expect(redact(' \u0007\n', [])).toBe(undefined);
    expect(redact('', [])).toBe(undefined);
  });
});

describe('redact keeps', () => {
  it.each([
    "Invalid value for 'messages[3].content': expected a string, got null.",
    'This model’s maximum context length is 128000 tokens: you asked for 130000 (temperature 0.7).',
    'tools.0.function.parameters is not valid at position:12, line:3, 12:30:45.',
    'max_tokens:4096 is above the limit of gpt-4o-mini-2024-07-18.',
    'Übergroße Anfrage – 请求过大 👩‍🚀',
  ])('%s', (text) => {
    expect(redact(text, secrets)).toBe(text);
  });
});

describe('a long text', () => {
  it('is cut at 512 characters, never inside a surrogate pair', () => {
    expect(redact('a '.repeat(10_000), [])).toHaveLength(512);
    expect(redact(`${'a'.repeat(511)}👍`, [])?.isWellFormed()).toBe(true);
  });

  it('shows no part of a secret or an address at the cut', () => {
    const noise = 'https://a.example/x '.repeat(90);
    for (let pad = 0; pad < 60; pad += 1) {
      const shown = redact(
        `${noise}${'x'.repeat(pad)} ${'y '.repeat(100)}10.20.30.40 s3cr3t`,
        secrets,
      );

      expect(shown).not.toMatch(/10\.2|s3c/);
    }
  });

  it.each([
    ['dots', '.'],
    ['letters and dots', 'a.'],
    ['hyphens', 'a-'],
    ['digits and dots', '1.'],
    ['colons', 'a:'],
    ['colons alone', ':'],
    ['hex and colons', 'f::'],
    ['letters', 'a'],
    ['brackets', '['],
    ['schemes', 'a+'],
    ['bearers', 'Bearer '],
    ['keys', 'sk-'],
    ['spaces', ' '],
    ['controls', '\u0001'],
  ])('of 10 KB of %s is redacted as fast as any other, a hundred times', (_, unit) => {
    const text = `${unit.repeat(2_000).slice(0, 2_000)} `.repeat(5);

    for (let count = 0; count < 100; count += 1) redact(text, secrets);

    expect((redact(text, secrets) ?? '').length).toBeLessThanOrEqual(512);
  });
});

describe('an encoded secret', () => {
  const credentials = [
    'sk-proj-Abc123DEF456ghi789JKL',
    'AIzaSyB-1234567890abcdefghijklmnopqrstu',
    'q7Zp0fKd93LmXw2TtBv8',
    `sk-ant-api03-${'aB3-xY9_kL0p'.repeat(8)}AA`,
  ];

  it.each(Object.entries(encodings))('%s is removed in any place', (_, encode) => {
    for (const credential of credentials) {
      const word = encode(credential);
      for (const text of [word, `before ${word} after`, `a"${word}"`, `key=${word}&x`]) {
        expect(shownOf(credential, redact(text, [credential]) ?? '')).toBeLessThan(8);
      }
    }
  });

  it('is removed after any number of letters, up to every cut', () => {
    const credential = 'q7Zp0fKd93LmXw2TtBv8';
    for (const encode of Object.values(encodings)) {
      for (let before = 0; before < 600; before += 149) {
        const text = `${'x '.repeat(before / 2)}${encode(credential)} ${'y '.repeat(2_000)}`;

        expect(shownOf(credential, redact(text, [credential]) ?? '')).toBeLessThan(8);
      }
    }
  });

  it('is removed if it is a host name', () => {
    const address = 'https://gpu7.lan:8443/v1';
    for (const encode of Object.values(encodings).slice(0, 32)) {
      expect(redact(`from ${encode('gpu7.lan')}!`, [address])).toMatch(/^from \[redacted\]\W?!$/);
    }
  });

  it('leaves text that shares only some letters with it', () => {
    const credential = 'sk-upstream-0123456789abcdef';
    const text = 'The upstream said: 0123456 tokens, 100% of 50 %20 &amp; more, sk- and so on.';

    expect(redact(text, [credential, 'https://language.example/v1', 'application/json'])).toBe(
      'The upstream said: 0123456 tokens, 100% of 50   & more, sk- and so on.',
    );
  });

  it('does not make a text of many partial matches slow', () => {
    const credential = `${'a'.repeat(600)}1`;
    const text = 'a'.repeat(64_000);

    for (let count = 0; count < 20; count += 1) redact(text, [credential, `${credential}b`]);

    expect(redact(text, [credential]) ?? '').not.toContain('aaaaaaaaaaaa');
  });

  it('never makes redact throw', () => {
    const crumbs = [
      '%',
      '&#',
      ';',
      '\\u',
      '\uD800',
      '\uDC00',
      '0',
      'a',
      '\u0000',
      '&amp',
      ' ',
      '{',
    ];
    const crumbled = (maxLength: number) =>
      fc.array(fc.constantFrom(...crumbs), { maxLength }).map((pieces) => pieces.join(''));
    fc.assert(
      fc.property(crumbled(60), crumbled(30), (text, secret) => {
        expect(typeof (redact(text, [secret]) ?? '')).toBe('string');
      }),
      { numRuns: 1_000 },
    );
  });
});
