/**
 * Finds out whether a request may be repeated: by its `Idempotency-Key`, or, if the host opted in,
 * by the retry count that OpenAI's SDKs send.
 */
import { createHash, hash } from 'node:crypto';
import type { Body } from '../../bytes/body/body.ts';
import type { Call } from '../../call.ts';
import { GatewayError } from '../../errors.ts';
import type { GatewayRequest } from '../../http.ts';
import type { Settings } from '../../options.ts';
import type { ClaimInput } from '../../ports/idempotency-store.ts';
import type { ApiKey } from '../../ports/key-store.ts';
import type { Protocol } from '../../protocols/protocol.ts';
import type { Read } from '../call-record.ts';

/** A call that runs only once under its name, however often it is sent. */
export type Repeatable = Pick<
  ClaimInput,
  'name' | 'fingerprint' | 'keyId' | 'operation' | 'ifTaken' | 'keepMs'
>;

const keyHeader = 'idempotency-key';
const countHeader = 'x-stainless-retry-count';
const keptByKeyMs = 24 * 60 * 60 * 1000;
/** An SDK retries within seconds; the same body after this time is a new call. */
const keptForRetryMs = 5 * 60 * 1000;

/**
 * How the call may be repeated. Undefined for most calls: streams and some protocols ignore the
 * header.
 *
 * @throws GatewayError `invalid_request` for a key that is malformed or sent twice
 */
export function repeatableOf({
  call,
  key,
  route,
  received: { request, settings },
}: Read): Repeatable | undefined {
  const { repeatableAs: operation } = route.protocol;
  if (operation === undefined || call.framing !== 'json') return undefined;
  const owner = { keyId: key.id, operation } as const;
  const values = valuesOf(request, keyHeader);
  if (values.length > 0) {
    const name = nameOf('key', key, call, readKey(values));
    const fingerprint = fingerprintOf(call.body);
    return { ...owner, name, fingerprint, ifTaken: 'answer', keepMs: keptByKeyMs };
  }
  if (!settings.dedupeSdkRetries) return undefined;
  const fingerprint = fingerprintOf(call.body);
  return {
    ...owner,
    name: nameOf('retry', key, call, fingerprint),
    fingerprint,
    // Two equal calls are two calls, unless the second says that it is a retry.
    ifTaken: isRetry(request) ? 'answer' : 'replace',
    keepMs: keptForRetryMs,
  };
}

/** True if the call may be answered without running, as far as its headers tell. */
export function mayBeRepeat(
  request: GatewayRequest,
  { repeatableAs }: Protocol,
  { dedupeSdkRetries }: Pick<Settings, 'dedupeSdkRetries'>,
): boolean {
  if (repeatableAs === undefined) return false;
  return request.headers[keyHeader] !== undefined || (dedupeSdkRetries && isRetry(request));
}

/** Only the raw list shows that a header was sent twice, because Node joins them. */
function valuesOf({ headers, rawHeaders }: GatewayRequest, name: string): readonly string[] {
  if (headers[name] === undefined) return [];
  return rawHeaders.filter(
    (_, index) => rawHeaders[index - 1]?.toLowerCase() === name && index % 2 === 1,
  );
}

const bareKey = /^[\x21\x23-\x7e][\x21-\x7e]{0,254}$/;
/** The strings of RFC 8941 §3.3.3, without spaces. */
const quotedKey = /^"((?:[\x21\x23-\x5b\x5d-\x7e]|\\["\\])+)"$/;

/** The quoted string of the IETF draft and the bare text of most clients name the same key. */
function readKey(values: readonly string[]): string {
  const [value = '', second] = values;
  const quoted = quotedKey.exec(value)?.[1];
  const key = quoted === undefined ? value : quoted.replace(/\\(.)/g, '$1');
  const isKey = quoted === undefined ? bareKey.test(key) : key.length <= 255;
  if (second === undefined && isKey) return key;
  throw new GatewayError(
    'invalid_request',
    'The header Idempotency-Key must be sent once, with 1 to 255 visible ASCII characters.',
    { param: keyHeader },
  );
}

function isRetry(request: GatewayRequest): boolean {
  const [count = '', second] = valuesOf(request, countHeader);
  return second === undefined && /^[1-9]\d{0,3}$/.test(count);
}

/** JSON keeps the parts apart, whatever characters they contain. */
function nameOf(
  kind: 'key' | 'retry',
  { id }: ApiKey,
  { protocol, operation }: Call,
  value: string,
): string {
  return digest(JSON.stringify([kind, id, protocol, operation.name, value]));
}

/** Hashes all bytes, including those that the scanned text leaves out. */
function fingerprintOf({ chunks }: Body): string {
  const sum = createHash('sha256');
  for (const piece of chunks) sum.update(piece);
  return sum.digest('hex');
}

function digest(text: string): string {
  return hash('sha256', text, 'hex');
}
