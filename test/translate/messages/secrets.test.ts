// suite: search
/**
 * A refusal never repeats a value of the request: its message may reach a log. Every value in turn
 * is replaced by a secret, by one in a list or an object, and by values of other types.
 */
import { describe, expect, it } from 'vitest';
import { GatewayError } from '../../../src/errors.ts';
import { isJsonObject, type JsonValue } from '../../../src/json.ts';
import { drawn } from '../../support/seeds.ts';
import { messagesRequest } from '../loss/messages-requests.ts';
import { built, drawing } from '../loss/tree.ts';
import { upstreams, writtenFor } from '../responses/read.ts';
import { readBody } from './read.ts';

const secret = 'sk_secret_of_a_caller';
const wrong: readonly JsonValue[] = [secret, 7, true, null, [secret], { [secret]: secret }];
const others = upstreams.filter(({ dialect }) => dialect !== 'anthropic');
const seeds = Array.from({ length: 12 }, (_, index) => index + 1);

/** The document with one value replaced, for every value in it. */
function* replaced(value: JsonValue, by: JsonValue): Generator<JsonValue> {
  yield by;
  if (Array.isArray(value)) {
    for (const [at, inner] of value.entries()) {
      for (const other of replaced(inner, by)) yield value.toSpliced(at, 1, other);
    }
  } else if (isJsonObject(value)) {
    for (const [name, inner] of Object.entries<JsonValue>(value)) {
      for (const other of replaced(inner, by)) yield { ...value, [name]: other };
    }
  }
}

/** A random request, as the parser would give it. */
function requestOf(seed: number): JsonValue {
  return JSON.parse(JSON.stringify(built(messagesRequest(drawing(drawn(seed), 1_000)))));
}

describe('a refusal', () => {
  it.each(seeds)('names a member and says nothing of a value: seed %i', (seed) => {
    let refusals = 0;
    for (const by of wrong) {
      for (const body of replaced(requestOf(seed), by)) {
        if (!isJsonObject(body)) continue;
        for (const error of refusalsOf(body)) {
          refusals += 1;
          expect(error).toBeInstanceOf(GatewayError);
          expect(`${error.message} ${error.param}`).not.toContain(secret);
          expect(error.param ?? '').not.toBe('');
          expect(error.message).not.toMatch(/undefined|\[object/);
        }
      }
    }
    expect(refusals).toBeGreaterThan(50);
  });
});

/** Reads the request and writes it for each upstream; anything thrown is returned. */
function refusalsOf(body: Parameters<typeof readBody>[0]): readonly GatewayError[] {
  return others.flatMap((upstream) => {
    try {
      writtenFor(upstream, readBody(body).request);
      return [];
    } catch (error) {
      if (error instanceof GatewayError) return [error];
      throw error;
    }
  });
}
