/**
 * Verifies a signature of AWS (version 4) as its servers do: from the request as it was received,
 * without the library that signed it.
 *
 * @see https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv-create-signed-request.html
 */
import { createHash, createHmac } from 'node:crypto';

export interface ReceivedRequest {
  readonly method: string;
  /** Raw, with the query. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  readonly body: Uint8Array;
}

const authorizationForm = new RegExp(
  String.raw`^AWS4-HMAC-SHA256 Credential=([^/]+)/(\d{8})/([^/]+)/([^/]+)/aws4_request, ` +
    'SignedHeaders=([^,]+), Signature=([0-9a-f]{64})$',
);

export interface SignatureFacts {
  readonly accessKeyId: string;
  readonly region: string;
  readonly service: string;
  readonly signedHeaders: readonly string[];
  readonly isValid: boolean;
}

export function signatureFacts(
  { method, path, headers, body }: ReceivedRequest,
  secretAccessKey: string,
): SignatureFacts {
  const header = String(headers.authorization ?? '');
  const [, accessKeyId = '', day = '', region = '', service = '', list = '', signature = ''] =
    authorizationForm.exec(header) ?? [];
  const signedHeaders = list.split(';');
  const [pathname = '', search = ''] = path.split('?', 2);
  const payloadHash = sha256(body);
  const canonical = [
    method,
    // Services other than S3 encode each segment of the path that they receive once more.
    pathname.split('/').map(encoded).join('/'),
    search
      .split('&')
      .filter(Boolean)
      .map((pair) => (pair.includes('=') ? pair : `${pair}=`))
      .sort()
      .join('&'),
    ...signedHeaders.map((name) => `${name}:${String(headers[name]).trim()}`),
    '',
    list,
    payloadHash,
  ].join('\n');
  const scope = `${day}/${region}/${service}/aws4_request`;
  const date = String(headers['x-amz-date']);
  const text = ['AWS4-HMAC-SHA256', date, scope, sha256(Buffer.from(canonical))].join('\n');
  const key = [day, region, service, 'aws4_request'].reduce<Buffer>(
    (last, part) => hmac(last, part),
    Buffer.from(`AWS4${secretAccessKey}`),
  );
  const isOfBody = headers['x-amz-content-sha256'] === payloadHash;
  const isOfDay = date.startsWith(day);
  const isValid = isOfBody && isOfDay && hmac(key, text).toString('hex') === signature;
  return { accessKeyId, region, service, signedHeaders, isValid };
}

function encoded(segment: string): string {
  const isOther = (letter: string): string =>
    `%${letter.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0')}`;
  return encodeURIComponent(segment).replace(/[!'()*]/g, isOther);
}

function sha256(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex');
}

function hmac(key: Buffer, text: string): Buffer {
  return createHmac('sha256', key).update(text).digest();
}
