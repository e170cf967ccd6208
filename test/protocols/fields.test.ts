// suite: quick
/** The fields of a body are found by the scan, by name, at every depth. */
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { root } from '../../src/bytes/json/tape.ts';
import { checkedFields, fieldOf, readObject } from '../../src/protocols/fields.ts';
import { tapeOf } from '../bytes/scanned.ts';

const anything = z.record(z.string(), z.unknown());

describe('the fields of a body', () => {
  it('are read even if their names are escaped, whatever was read before', () => {
    // V8 in Node 24.21 reads the second as the first if both are parsed as a whole.
    read('{"generationConfig":{"topK":1,"candidate\\\\":1}}');

    expect(read('{"generationConfig":{"topK":1,"candidate\\u0043ount":8}}')).toEqual({
      generationConfig: { candidateCount: 8 },
    });
  });

  it('are only the requested ones', () => {
    expect(read('{"n":1,"generationConfig":{"responseSchema":{"type":"OBJECT"}}}')).toEqual({
      generationConfig: {},
    });
  });

  it('are returned unchanged if they should have been an object', () => {
    expect(read('{"generationConfig":[1]}')).toEqual({ generationConfig: [1] });
  });
});

function read(text: string): unknown {
  const tape = tapeOf(text);
  const generationConfig = readObject(tape, tape.get(root, 'generationConfig'), (config) => ({
    candidateCount: fieldOf(tape, 'candidateCount', config),
  }));
  return checkedFields(anything, { generationConfig });
}
