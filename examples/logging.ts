/**
 * Logs without keys: the gateway's events and the host's requests, with pino and pino-http or with
 * winston and morgan. Callers send keys in headers and, to Gemini's API, in the query.
 */
import type { IncomingMessage } from 'node:http';
import morgan from 'morgan';
import type { Logger } from 'pino';
import { type HttpLogger, pinoHttp } from 'pino-http';

/** A request logger whose lines have no key. Use it for all routes, before the gateway. */
export function requestLogger(logger: Logger): HttpLogger {
  return pinoHttp({
    logger,
    redact: [
      'req.headers.authorization',
      'req.headers.cookie',
      'req.headers["x-api-key"]',
      'req.headers["x-goog-api-key"]',
      'req.headers["x-vendor-api-key"]',
      'req.query',
    ],
    serializers: {
      // Redaction replaces whole values, and the key is in a part of this one: `?key=…`.
      req: (req: { url: string }) => ({ ...req, url: withoutQuery(req.url) }),
    },
  });
}

/** An access log without the query, and without the headers that may hold a key or an address. */
export function accessLog(write: (line: string) => void): ReturnType<typeof morgan> {
  return morgan<IncomingMessage & { originalUrl?: string }>(
    ({ status, 'response-time': ms, method }, req, res) => {
      const path = withoutQuery(req.originalUrl ?? req.url ?? '');
      return `${method?.(req, res)} ${path} ${status?.(req, res)} ${ms?.(req, res)} ms`;
    },
    { stream: { write } },
  );
}

function withoutQuery(url: string): string {
  return url.split('?', 1).join('');
}
