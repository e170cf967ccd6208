/**
 * The interface of a fake provider: it maps each call to a script.
 */
import type { IncomingHttpHeaders } from 'node:http';
import type { JsonValue } from '../../json.ts';
import type { Script } from './scripts.ts';
import type { StoredResponses } from './stored-responses.ts';

export interface ProviderRequest {
  readonly method: string;
  /** Without the query, still percent-encoded. */
  readonly path: string;
  readonly query: URLSearchParams;
  readonly headers: IncomingHttpHeaders;
  /** The body as JSON, or undefined where it is not JSON. */
  readonly body: JsonValue | undefined;
  readonly origin: string;
}

/** Never random, so that every run is the same. */
export interface ReplyContext {
  /** The next serial number from 1, for ids in replies. */
  serial(): number;
  readonly createdAtSeconds: number;
  /** How long `demo-slow` waits. */
  readonly slowMs: number;
  /** The earlier Responses. A call may refer to them by id. */
  readonly stored: StoredResponses;
}

export interface Provider {
  owns(path: string): boolean;
  /** The refusal of a call without this API key, or undefined. */
  refuseKey(request: ProviderRequest, apiKey: string): Script | undefined;
  /** The reply to any call, even an invalid one. */
  reply(request: ProviderRequest, context: ReplyContext): Script;
}

/** An id like a provider's, but with a serial number: `chatcmpl-000000000001`. */
export function counted(prefix: string, context: ReplyContext): string {
  return `${prefix}${String(context.serial()).padStart(12, '0')}`;
}
