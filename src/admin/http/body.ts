/** Reads the JSON body of a change, within a limit. */
import type { IncomingMessage } from 'node:http';
import { AdminError } from '../admin-error.ts';

/** The largest body of a change, in bytes. */
const maxBodyBytes = 65_536;

/**
 * The parsed body. A body that a parser of the host has read is taken from `request.body`.
 *
 * @throws AdminError `body_too_large`, `invalid_request`
 */
export async function readJson(request: IncomingMessage): Promise<unknown> {
  const parsed: unknown = Reflect.get(request, 'body');
  if (request.readableEnded && parsed !== undefined) return parsed;
  const stated = Number(request.headers['content-length'] ?? 0);
  if (stated > maxBodyBytes) throw tooLarge();
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request) {
    const piece = Buffer.from(chunk);
    bytes += piece.length;
    if (bytes > maxBodyBytes) throw tooLarge();
    chunks.push(piece);
  }
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(Buffer.concat(chunks));
    return text === '' ? {} : JSON.parse(text);
  } catch {
    throw new AdminError('invalid_request', 'The body is not valid JSON in UTF-8.');
  }
}

function tooLarge(): AdminError {
  return new AdminError('body_too_large', `The body may have ${maxBodyBytes} bytes at most.`);
}
