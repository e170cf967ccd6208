// suite: quick
/** Envelopes carry the data of one provider through the clients of another, unchanged. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  type Envelope,
  type EnvelopeKind,
  isEnvelope,
  openEnvelope,
  seal,
  sealReasoning,
  unseal,
  unsealReasoning,
  writeEnvelope,
} from '../../src/canonical/envelope.ts';

const kinds: readonly EnvelopeKind[] = ['thinking', 'redacted', 'call', 'text'];
/** Any text, also with half of a surrogate pair. */
const text = fc.oneof(fc.string(), fc.string({ unit: 'binary' }), fc.constantFrom('\ud83d', '>?~'));
const optional = fc.option(text, { nil: undefined });
const anyEnvelope: fc.Arbitrary<Envelope> = fc.record({
  provider: fc.constantFrom('gemini', 'anthropic', 'openai', 'any'),
  kind: fc.constantFrom(...kinds),
  data: text,
  text: optional,
  callId: optional,
});
const settings = { numRuns: 400 };

describe('an envelope', () => {
  it('gives back what was put in, in either Base64', () => {
    fc.assert(
      fc.property(anyEnvelope, fc.constantFrom('base64', 'base64url'), (envelope, encoding) => {
        const written = writeEnvelope(envelope, encoding);

        expect(isEnvelope(written)).toBe(true);
        expect(openEnvelope(written)).toEqual(envelope);
      }),
      settings,
    );
  });

  it('of the older form is still opened', () => {
    const older = (inside: string): string => Buffer.from(`gw1:${inside}`).toString('base64');
    const hidden = JSON.stringify(['encrypted', 'd', 't']);
    const unsigned = JSON.stringify(['signature', '', 'thought']);

    expect(unseal(older('anthropic:signature:a:b'))).toEqual({
      provider: 'anthropic',
      kind: 'signature',
      data: 'a:b',
    });
    expect(unsealReasoning(older('anthropic:signature:ab'))).toBe(undefined);
    expect(unsealReasoning(older(`anthropic:reasoning:${hidden}`))).toEqual({
      text: 't',
      providerData: { provider: 'anthropic', kind: 'encrypted', data: 'd' },
    });
    expect(unsealReasoning(older(`any:reasoning:${unsigned}`))).toEqual({
      text: 'thought',
      providerData: undefined,
    });
  });

  it('for callers of Google’s API is plain Base64, as their clients decode bytes', () => {
    fc.assert(
      fc.property(text, (data) => {
        const sealed = seal({ provider: 'anthropic', kind: 'signature', data });
        const hidden = sealReasoning({ text: data, providerData: undefined });

        for (const written of [sealed, hidden]) {
          expect(written).toBe(Buffer.from(written, 'base64').toString('base64'));
        }
        expect(unsealReasoning(hidden)).toEqual({ text: data, providerData: undefined });
      }),
      settings,
    );
  });
});

describe('what is no envelope', () => {
  const whole = writeEnvelope({ provider: 'gemini', kind: 'text', data: 'signature', text: 'a' });

  it('is not opened when it is cut at any place', () => {
    for (let length = 0; length < whole.length; length += 1) {
      expect(openEnvelope(whole.slice(0, length))).toBe(undefined);
    }
  });

  it('is not opened when any character is replaced by one outside Base64', () => {
    for (let at = 0; at < whole.length; at += 1) {
      expect(openEnvelope(`${whole.slice(0, at)}!${whole.slice(at + 1)}`)).toBe(undefined);
    }
  });

  it('is any other text', () => {
    const beginning = fc.constantFrom(
      '',
      'Z3cyO',
      'Z3cxO',
      'gAAAA',
      Buffer.from('gw2:').toString('base64'),
    );
    fc.assert(
      fc.property(beginning, text, (start, rest) => {
        expect(openEnvelope(start + rest)).toBe(undefined);
      }),
      settings,
    );
  });

  it('is data of a provider, plain text, or JSON of somebody else', () => {
    const json = (value: unknown): string =>
      Buffer.from(`gw2:${JSON.stringify(value)}`).toString('base64url');
    const valid = { p: 'gemini', k: 'text', d: 's' };

    expect(openEnvelope(json(valid))).toEqual({ provider: 'gemini', kind: 'text', data: 's' });
    for (const other of [
      '',
      'gAAAAABn4',
      'CiQB4/H/XqgOwn==',
      'Z3cyO',
      'Z3cxO',
      json(null),
      json([valid]),
      json('gemini'),
      json({ ...valid, p: undefined }),
      json({ ...valid, p: 'Gemini:' }),
      json({ ...valid, p: 1 }),
      json({ ...valid, k: 'other' }),
      json({ ...valid, k: undefined }),
      json({ ...valid, d: 1 }),
      json({ ...valid, t: null }),
      json({ ...valid, c: {} }),
      json({ ...valid, other: [] }),
      json({ ...valid, t: '', c: '', other: '', more: '' }),
      Buffer.from('gw2:{"p":').toString('base64'),
      Buffer.from('gw1:anthropic:reasoning:[1]').toString('base64'),
      Buffer.from('gw1:anthropic:other:x').toString('base64'),
    ]) {
      expect(openEnvelope(other)).toBe(undefined);
      expect(unseal(other)).toBe(undefined);
      expect(unsealReasoning(other)).toBe(undefined);
    }
  });

  it('is longer than 1 MiB', () => {
    const limit = 1024 * 1024;
    const sized = (length: number): string => {
      const data = 'x'.repeat((length / 4) * 3 - 'gw2:{"p":"any","k":"text","d":""}'.length);
      return writeEnvelope({ provider: 'any', kind: 'text', data });
    };

    expect(sized(limit)).toHaveLength(limit);
    expect(openEnvelope(sized(limit))?.kind).toBe('text');
    expect(openEnvelope(sized(limit + 4))).toBe(undefined);
    expect(isEnvelope(sized(limit + 4))).toBe(true);
  });
});
