// suite: slow host
/** Mutated requests: each gets an answer, and nothing leaks. */
import fc from 'fast-check';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { statusOf } from '../../src/errors.ts';
import { chatBody, imageBody, nativeBody } from '../support/bodies.ts';
import {
  bearer,
  type MountedGateway,
  mountedGateway,
  vendorKey,
} from '../support/mounted-gateway.ts';
import { exchangeRaw, rawRequest } from '../support/raw-http.ts';

let harness: MountedGateway;

beforeEach(async () => {
  harness = await mountedGateway();
});

afterEach(() => harness.close());

/** A request and its mutation. */
interface Mutant {
  readonly base: number;
  readonly method: string | undefined;
  readonly path: Splice | undefined;
  readonly header: readonly [string, string] | undefined;
  readonly body: Splice | undefined;
}

/** Bytes that replace others; `at` is a share of the length. */
interface Splice {
  readonly at: number;
  readonly remove: number;
  readonly insert: string;
}

const splice = (insert: fc.Arbitrary<string>): fc.Arbitrary<Splice> =>
  fc.record({ at: fc.double({ min: 0, max: 1, noNaN: true }), remove: fc.nat(5), insert });
const rarely = <T>(what: fc.Arbitrary<T>) => fc.option(what, { nil: undefined, freq: 2 });

const mutants: fc.Arbitrary<Mutant> = fc.record({
  base: fc.nat(5),
  method: rarely(fc.constantFrom('GET', 'HEAD', 'PUT', 'DELETE', 'OPTIONS', 'PATCH', 'FETCH')),
  path: rarely(
    splice(fc.constantFrom('', '%', '%00', '/', '..', ':', '?', '%2F', '\\', 'é', ';', '#')),
  ),
  header: rarely(
    fc.tuple(
      fc.constantFrom('content-type', 'authorization', 'x-vendor-api-key', 'content-encoding'),
      fc.constantFrom(
        '',
        'x',
        'gzip',
        'text/html',
        'application/json; charset=latin1',
        'Bearer \t',
      ),
    ),
  ),
  body: rarely(
    splice(
      fc.oneof(
        fc.constantFrom('', '"', '\\', '{', ']', ',', '1e999', 'null', '\u0000', '\ud800', '-'),
        fc.string({ unit: 'binary', maxLength: 4 }),
      ),
    ),
  ),
});

it('200 mutations of valid requests are answered, leave no hold, and break nothing', async () => {
  const expected = new Set([200, 204, ...Object.values(statusOf)]);
  expected.delete(statusOf.internal_error);

  const answers: string[] = [];
  for (const mutant of fc.sample(mutants, { numRuns: 200 })) {
    answers.push(await exchangeRaw(harness.origin, mutated(mutant)));
  }

  const statuses = answers.map((answer) => Number(/^HTTP\/1\.1 (\d{3}) /.exec(answer)?.[1]));
  expect(statuses.filter((status) => !expected.has(status))).toEqual([]);
  expect(new Set(statuses).size).toBeGreaterThan(4);
  expect(harness.events.filter(({ type }) => type === 'internal_error')).toEqual([]);
  expect(await harness.drained()).toEqual({ heldNanos: 0n, inFlight: 0 });
});

function mutated({ base, method, path, header, body }: Mutant): Buffer {
  const { chat, image, native } = harness.secrets;
  const bases = [
    ['/v1/chat/completions', bearer(chat), chatBody],
    ['/v1/chat/completions', bearer(chat), { ...chatBody, stream: true }],
    ['/v1/images/generations', bearer(image), { ...imageBody, size: undefined }],
    ['/v1beta/models/native-1:generateContent', vendorKey(native), nativeBody],
    ['/v1beta/models/native-1:streamGenerateContent?alt=sse', vendorKey(native), nativeBody],
    ['/v1beta/models/both-1:countTokens', vendorKey(native), nativeBody],
  ] as const;
  const [target, key, document] = bases[base] ?? bases[0];
  return Buffer.from(
    rawRequest(
      `${method ?? 'POST'} ${path === undefined ? target : spliced(target, path)}`,
      {
        ...key,
        'content-type': 'application/json',
        ...(header === undefined ? {} : { [header[0]]: header[1] }),
        connection: 'close',
      },
      body === undefined ? JSON.stringify(document) : spliced(JSON.stringify(document), body),
    ),
  );
}

function spliced(text: string, { at, remove, insert }: Splice): string {
  const start = Math.floor(at * text.length);
  return text.slice(0, start) + insert + text.slice(start + remove);
}
