// suite: search
/** The scan in sections has the same result as the scan in one go, and yields in between. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { wholeBody } from '../../src/bytes/body/body.ts';
import { scanBody, scanBodyInTurns, scanInSteps } from '../../src/bytes/json/scan/body.ts';
import { type JsonScan, scanJson } from '../../src/bytes/json/scan/scan.ts';
import { root } from '../../src/bytes/json/tape.ts';
import { isGatewayError } from '../../src/errors.ts';
import { goldenBodies } from './golden-bodies.ts';
import { objectText, often } from './json-arbitrary.ts';

function stepped(body: Uint8Array): { readonly scan: JsonScan; readonly sections: number } {
  const steps = scanInSteps(body);
  for (let sections = 1; ; sections += 1) {
    const { done, value } = steps.next();
    if (done === true) return { scan: value, sections };
  }
}

function outcomeOf(scan: () => JsonScan): unknown {
  try {
    return scan();
  } catch (error) {
    if (!isGatewayError(error)) throw error;
    return [error.reason, error.message];
  }
}

describe('a scan in sections', () => {
  it.each(goldenBodies)('has the same outcome: $body', ({ body }) => {
    const bytes = Buffer.from(body, 'latin1');

    expect(outcomeOf(() => stepped(bytes).scan)).toEqual(outcomeOf(() => scanJson(bytes)));
  });

  it('finds the same members and counts the same values', () => {
    const law = fc.property(objectText, (text) => {
      const bytes = Buffer.from(text);

      expect(stepped(bytes).scan).toEqual(scanJson(bytes));
    });

    fc.assert(law, often);
  });

  it('refuses the same bodies at the same byte', () => {
    const bad = fc.constantFrom(...Buffer.from('"\\,:{}[] 0a\0'), 0xff);
    const law = fc.property(objectText, fc.nat(), bad, (text, place, byte) => {
      const bytes = Buffer.from(text);
      bytes[place % bytes.length] = byte;

      expect(outcomeOf(() => stepped(bytes).scan)).toEqual(outcomeOf(() => scanJson(bytes)));
      const cut = bytes.subarray(0, place % bytes.length);
      expect(outcomeOf(() => stepped(cut).scan)).toEqual(outcomeOf(() => scanJson(cut)));
    });

    fc.assert(law, often);
  });

  it.each([
    [63, '0'],
    [64, '0'],
    [62, '{}'],
    [63, '{}'],
  ])('enforces the maximum depth: %i levels around %s', (levels, inner) => {
    const bytes = Buffer.from(`{"a":${'['.repeat(levels)}${inner}${']'.repeat(levels)}}`);

    expect(outcomeOf(() => stepped(bytes).scan)).toEqual(outcomeOf(() => scanJson(bytes)));
  });

  it('yields every quarter of a MiB', () => {
    const bytes = Buffer.from(`{"a":[${'0,'.repeat(499_000)}0]}`);

    expect(stepped(bytes).sections).toBe(Math.ceil(bytes.length / 262_144));
  });
});

describe('a body', () => {
  const large = wholeBody(Buffer.from(`{"a":[${'{"b":0},'.repeat(150_000)}0],"last":{"b":"end"}}`));

  it('is scanned over several turns of the event loop with the same result', async () => {
    let turns = 0;
    const turn = (): void => {
      turns += 1;
      next = setImmediate(turn);
    };
    let next = setImmediate(turn);

    const scan = await scanBodyInTurns(large);

    clearImmediate(next);
    expect(scan.count).toBe(scanBody(large).count);
    expect(scan.text(scan.get(scan.get(root, 'last'), 'b'))).toBe('end');
    expect(turns).toBeGreaterThan(1);
  });

  it('is refused over several turns too', async () => {
    const bytes = Buffer.concat([large.text, Buffer.from('}')]);

    await expect(scanBodyInTurns(wholeBody(bytes))).rejects.toMatchObject({
      reason: 'invalid_json',
    });
  });
});
