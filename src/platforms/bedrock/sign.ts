/** Signs requests with the keys of an AWS account (Signature Version 4). */
import { createHash, createHmac, type Hash, type Hmac } from 'node:crypto';
import type { SignedRequest } from '../../dialects/hosting.ts';
import { called, constructed, hostPackage, propertyOf } from '../../host/packages.ts';
import type { HeaderMap } from '../../http.ts';
import { member, parseJson } from '../../json.ts';

/** What a signature is valid for. */
export interface SigningScope {
  readonly region: string;
  readonly service: string;
}

/** Names that only this module gives to headers. */
const addedHeaders = [
  'authorization',
  'x-amz-content-sha256',
  'x-amz-date',
  'x-amz-security-token',
] as const;

/**
 * Returns the headers that sign the request. Signed are the headers that AWS demands, and not those
 * that a proxy may change.
 */
export async function signatureOf(
  { method, origin, path, headers, body, secret, nowMs }: SignedRequest,
  scope: SigningScope,
): Promise<HeaderMap> {
  const library = hostPackage('@smithy/signature-v4', 'Signing requests to AWS');
  const { protocol, host } = new URL(origin);
  const [pathname = '', search = ''] = path.split('?', 2);
  const own = Object.entries(headers).filter(
    ([name]) => name === 'content-type' || name.startsWith('x-amz'),
  );
  const credentials = keysIn(secret);
  const signer = constructed(library, 'SignatureV4', { ...scope, credentials, sha256: Sha256 });
  const signed = await called(
    signer,
    'sign',
    {
      method,
      protocol,
      hostname: host,
      path: pathname,
      query: Object.fromEntries(new URLSearchParams(search)),
      headers: { ...Object.fromEntries(own), host, 'x-amz-content-sha256': sha256(body) },
    },
    { signingDate: new Date(nowMs) },
  );
  const added: Record<string, string> = {};
  for (const name of addedHeaders) {
    const value = propertyOf(propertyOf(signed, 'headers'), name);
    if (typeof value === 'string') added[name] = value;
  }
  // Without a signature AWS would be sent an unsigned request.
  if (added.authorization === undefined) throw new TypeError('@smithy/signature-v4 signed nothing');
  return added;
}

function keysIn(secret: string): {
  accessKeyId: string;
  secretAccessKey: string;
  sessionToken?: string;
} {
  const keys = parseJson(secret);
  const text = (name: string): string => String(member(keys, name) ?? '');
  const sessionToken = text('sessionToken');
  return {
    accessKeyId: text('accessKeyId'),
    secretAccessKey: text('secretAccessKey'),
    ...(sessionToken === '' ? {} : { sessionToken }),
  };
}

function sha256(pieces: readonly Uint8Array[]): string {
  const hash = createHash('sha256');
  for (const piece of pieces) hash.update(piece);
  return hash.digest('hex');
}

type HashedData = string | ArrayBuffer | ArrayBufferView;

/** Node's own, which is many times as fast as one in JavaScript. */
class Sha256 {
  readonly #hash: Hash | Hmac;

  constructor(key?: HashedData) {
    this.#hash = key === undefined ? createHash('sha256') : createHmac('sha256', bytesOf(key));
  }

  update(data: HashedData): void {
    this.#hash.update(bytesOf(data));
  }

  async digest(): Promise<Uint8Array> {
    return this.#hash.digest();
  }
}

function bytesOf(data: HashedData): Uint8Array {
  if (typeof data === 'string') return Buffer.from(data);
  return ArrayBuffer.isView(data)
    ? new Uint8Array(data.buffer, data.byteOffset, data.byteLength)
    : new Uint8Array(data);
}
