/** Reads Responses requests, and writes them for upstreams, with the codecs alone. */
import type { ContentRequest } from '../../../src/canonical/request.ts';
import { capabilitiesOf } from '../../../src/dialects/capabilities.ts';
import type { ReadRequest } from '../../../src/dialects/openai/responses/server/exchange.ts';
import { readRequest } from '../../../src/dialects/openai/responses/server/read-request.ts';
import { dialects } from '../../../src/dialects/table.ts';
import { GatewayError } from '../../../src/errors.ts';
import { isJsonObject, type JsonObject, type JsonValue, parseJson } from '../../../src/json.ts';
import type { Capabilities, DialectName } from '../../../src/ports/models/capabilities.ts';
import { clientCodecs } from '../../support/codecs.ts';

/** Reads the body for a whole reply. */
export function readBody(body: JsonObject): ReadRequest {
  return readRequest(body, { streamed: false });
}

/** Reads a request with these items. */
export function conversation(...input: readonly JsonObject[]): ContentRequest {
  return readBody({ model: 'm', input }).request;
}

/** Reads a request with one message and these members. */
export function requestWith(members: JsonObject): ContentRequest {
  return readBody({ model: 'm', input: 'Hi', ...members }).request;
}

/** A request that was refused. */
export interface Refusal {
  readonly code: string;
  readonly param: string | undefined;
  readonly message: string;
}

/** Runs it, and returns the error with which it must end. */
export function refusalOf(run: () => unknown): Refusal {
  try {
    run();
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error;
    return { code: error.code, param: error.param, message: error.message };
  }
  throw new Error('It was not refused.');
}

/** An upstream, and the flags in which its channel differs. */
export interface Upstream {
  readonly dialect: DialectName;
  readonly model: string;
  readonly own?: Capabilities;
}

/** A current model behind each dialect. */
export const upstreams: readonly Upstream[] = [
  { dialect: 'openai', model: 'gpt-5.4' },
  { dialect: 'gemini', model: 'gemini-3-pro-preview' },
  { dialect: 'anthropic', model: 'claude-opus-4-8' },
];

/** Writes a request for the upstream. */
export function writtenFor(
  { dialect, model, own }: Upstream,
  request: ContentRequest,
): { readonly body: JsonValue; readonly dropped: readonly string[] } {
  const { body, dropped } = clientCodecs[dialect].content.begin(request, {
    upstreamModel: model,
    capabilities: capabilitiesOf(dialects[dialect].capabilities, model, own),
    maxOutputTokens: undefined,
    ids: () => 'made-up',
  });
  return { body: parseJson(body) ?? null, dropped };
}

/** The body of a recorded request. */
export function bodyOf(request: Uint8Array | undefined): JsonObject {
  const body = parseJson(Buffer.from(request ?? []).toString('utf8'));
  if (!isJsonObject(body)) throw new Error('The recorded request is not an object.');
  return body;
}
