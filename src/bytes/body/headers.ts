/** Checks the headers that describe a request body, before it is read. */
import { GatewayError } from '../../errors.ts';
import type { IncomingHeaders } from '../../http.ts';

/**
 * Accepts JSON in UTF-8, and a body without a content-type.
 *
 * @throws GatewayError `unsupported_media_type` for another type or charset
 */
export function checkContentType(headers: IncomingHeaders): void {
  const header = headerOf(headers, 'content-type');
  if (header === 'application/json' || header === '') return;
  const [type, ...parameters] = header.toLowerCase().split(';');
  if (type !== undefined && type.trim() !== '' && type.trim() !== 'application/json') {
    throw new GatewayError(
      'unsupported_media_type',
      'The request body must be JSON. Send it with content-type: application/json.',
      { reason: 'content_type' },
    );
  }
  if (!parameters.every(isNoOtherCharset)) {
    throw new GatewayError(
      'unsupported_media_type',
      'The request body must be UTF-8. Send it with content-type: application/json.',
      { reason: 'charset' },
    );
  }
}

/**
 * Refuses compressed bodies, because a kilobyte can decompress to a megabyte of JSON.
 *
 * @throws GatewayError `unsupported_media_type`
 */
export function checkContentEncoding(headers: IncomingHeaders): void {
  if (headers['content-encoding'] === undefined) return;
  const encoding = headerOf(headers, 'content-encoding').trim().toLowerCase();
  if (encoding === '' || encoding === 'identity') return;
  throw new GatewayError(
    'unsupported_media_type',
    'The request body is compressed. Send it uncompressed, without a content-encoding header.',
    { reason: 'content_encoding' },
  );
}

export function contentLengthOf(headers: IncomingHeaders): number | undefined {
  const header = headers['content-length'];
  if (header === undefined) return undefined;
  const text = String(header).trim();
  const length = Number(text);
  return text === '' || Number.isNaN(length) ? undefined : length;
}

/** False for a charset other than UTF-8 (RFC 9110 §8.3.1). */
function isNoOtherCharset(parameter: string): boolean {
  const [name = '', ...value] = parameter.split('=');
  if (name.trim() !== 'charset') return true;
  const charset = value.join('=').trim().replaceAll('"', '');
  return charset === 'utf-8' || charset === 'utf8';
}

function headerOf(headers: IncomingHeaders, name: string): string {
  const value = headers[name] ?? '';
  return typeof value === 'string' ? value : value.join(', ');
}
