/** Reads the JSON body of a change, within a limit. */
import type { IncomingMessage } from 'node:http';
import { scanJson } from '../../bytes/json/scan/scan.ts';
import type { Clock } from '../../clock.ts';
import { isGatewayError } from '../../errors.ts';
import { within } from '../../ports/within.ts';
import { AdminError, isAdminError } from '../admin-error.ts';

const maxBodyBytes = 65_536;
/** The timeout for a body: the same as for the bodies of calls (docs/security.md). */
const bodyMs = 10_000;

/**
 * The parsed body. A body that a parser of the host has read is taken from `request.body`; one that
 * was read and then dropped is refused, because without its body a request may mean another change.
 *
 * @throws AdminError `body_too_large`, `invalid_request`
 */
export async function readJson(request: IncomingMessage, clock: Clock): Promise<unknown> {
  const stated = Number(request.headers['content-length'] ?? 0);
  if (stated > maxBodyBytes) throw tooLarge();
  if (request.readableDidRead) return parsedBefore(Reflect.get(request, 'body'));
  return parsed(await within(bytesOf(request), bodyMs, clock).catch(unread));
}

async function bytesOf(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request) {
    const piece = Buffer.from(chunk);
    bytes += piece.length;
    if (bytes > maxBodyBytes) throw tooLarge();
    chunks.push(piece);
  }
  return Buffer.concat(chunks);
}

/** Any other error is the caller's: it disconnected, or stopped sending. */
function unread(error: unknown): never {
  if (isAdminError(error)) throw error;
  throw new AdminError('invalid_request', `The body was not complete after ${bodyMs / 1_000} s.`, {
    cause: error,
  });
}

/** The body as a JSON, text or raw body parser of the host has left it. */
function parsedBefore(body: unknown): unknown {
  if (typeof body === 'string') return parsed(Buffer.from(body));
  if (Buffer.isBuffer(body)) return parsed(body);
  if (body !== undefined) return body;
  throw new AdminError(
    'invalid_request',
    'A parser of this host has read the body. Mount the admin handler before it, or set body of ' +
      'the node:http request to what the parser has read.',
  );
}

/**
 * @throws AdminError `invalid_request` for JSON that parsers read differently, or that is nested
 *   too deeply
 */
function parsed(bytes: Buffer): unknown {
  if (bytes.length === 0) return {};
  try {
    scanJson(bytes);
  } catch (error) {
    if (!isGatewayError(error)) throw error;
    throw new AdminError('invalid_request', problems.get(error.reason) ?? 'Send a JSON object.');
  }
  return JSON.parse(bytes.toString());
}

const problems: ReadonlyMap<unknown, string> = new Map([
  ['invalid_json', 'The body is not valid JSON in UTF-8.'],
  ['invalid_utf8', 'The body is not valid JSON in UTF-8.'],
  ['bom', 'The body begins with a byte order mark. Send it without one.'],
  ['duplicate_key', 'The body names a member twice in one object. Send each once.'],
  ['name_too_long', 'The body has a name of over 4,096 bytes.'],
  ['too_deep', 'The body is nested deeper than 64 levels.'],
  ['too_many_values', 'The body has too many values.'],
]);

function tooLarge(): AdminError {
  return new AdminError('body_too_large', `The body may have ${maxBodyBytes} bytes at most.`);
}
