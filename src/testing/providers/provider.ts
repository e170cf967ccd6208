/**
 * What the fake providers share: their interface, which maps each call to a script, the Responses
 * that are kept for later calls, and the models whose names stand for a fault or for an agent.
 */
import { createHash } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import { isJsonObject, items, type JsonObject, type JsonValue, member } from '../../json.ts';
import { json, type Piece, reset, type Script, type ScriptHeaders } from './scripts.ts';

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

export interface FaultReplies {
  error(status: 429 | 500 | 503): Script;
  readonly streamError: string;
  blocked(): Script;
  empty(): Script;
  readonly slowMs: number;
}

/**
 * For manual tests: with the model `demo-cut` the reply breaks off. Automated tests queue scripts
 * instead, which define every byte.
 */
const faults: ReadonlyMap<string, (script: Script, faultReplies: FaultReplies) => Script> = new Map(
  [
    ['demo-503', (_script, faultReplies) => faultReplies.error(503)],
    ['demo-429', (_script, faultReplies) => faultReplies.error(429)],
    ['demo-500', (_script, faultReplies) => faultReplies.error(500)],
    ['demo-slow', (script, faultReplies) => ({ ...script, delayMs: faultReplies.slowMs })],
    ['demo-stall', (script) => ({ ...firstHalf(script), ending: 'hang' })],
    ['demo-cut', (script) => ({ ...firstHalf(script), ending: 'close' })],
    ['demo-refuse', reset],
    ['demo-safety', (_script, faultReplies) => faultReplies.blocked()],
    ['demo-empty', (_script, faultReplies) => faultReplies.empty()],
    ['demo-error-event', errorInside],
    ['demo-html', badGateway],
  ],
);

/** The model names that stand for faults. */
export const faultNames: readonly string[] = [...faults.keys()];

/** The script with the fault of the model's name; unchanged for every other model. */
export function withFault(model: string, script: Script, faultReplies: FaultReplies): Script {
  return faults.get(model)?.(script, faultReplies) ?? script;
}

/** Half of the chunks, or half of the bytes with the full `content-length`. */
function firstHalf({ body = '', chunks, ...head }: Script): Script {
  if (chunks !== undefined) return { ...head, chunks: halfOf([...chunks]) };
  const bytes = Buffer.from(body);
  return {
    ...head,
    headers: { ...head.headers, 'content-length': String(bytes.length) },
    chunks: [bytes.subarray(0, Math.ceil(bytes.length / 2))],
  };
}

/**
 * Half a stream followed by the error; for a whole reply, a status 200 whose body is only the
 * error.
 */
function errorInside(script: Script, faultReplies: FaultReplies): Script {
  if (script.chunks === undefined) return { ...faultReplies.error(500), status: 200 };
  return { ...script, chunks: [...halfOf([...script.chunks]), faultReplies.streamError] };
}

function halfOf(pieces: readonly Piece[]): readonly Piece[] {
  return pieces.slice(0, Math.ceil(pieces.length / 2));
}

function badGateway(): Script {
  const body = [
    '<html>',
    '<head><title>502 Bad Gateway</title></head>',
    '<body>',
    '<center><h1>502 Bad Gateway</h1></center>',
    '<hr><center>cloudflare</center>',
    '</body>',
    '</html>',
    '',
  ].join('\r\n');
  return { status: 502, headers: { 'content-type': 'text/html', server: 'cloudflare' }, body };
}

/** How a model uses tools, by its name. */
export interface Agent {
  /** How many rounds of calls it makes before its final text. */
  readonly rounds: number;
  /** How many tools it calls in parallel; undefined for the default of the provider. */
  readonly callsAtOnce: number | undefined;
  /** Its reasoning and calls have individual signatures, which must match on their way back. */
  readonly signsEachRound: boolean;
}

const simple: Agent = { rounds: 1, callsAtOnce: undefined, signsEachRound: false };

export function agentOf(model: string): Agent {
  const rounds = /-agent-([1-9])$/.exec(model)?.[1];
  return rounds === undefined
    ? simple
    : { rounds: Number(rounds), callsAtOnce: 2, signsEachRound: true };
}

/** A signature in Base64 that reveals a changed text; the same in every run. */
export function signatureOf(text: string): string {
  return Buffer.from(`fake:${createHash('sha256').update(text).digest('hex')}`).toString('base64');
}

interface StoredResponse {
  readonly response: JsonObject;
  /** The items of its input, those of the responses before it included. */
  readonly input: readonly JsonObject[];
}

export class StoredResponses {
  readonly #responses = new Map<string, StoredResponse>();
  readonly #outputItems = new Map<string, JsonObject>();

  add(id: string, stored: StoredResponse): void {
    this.#responses.set(id, stored);
    for (const item of outputOf(stored)) this.#outputItems.set(String(item.id), item);
  }

  find(id: string): StoredResponse | undefined {
    return this.#responses.get(id);
  }

  /** The output item with this id, or undefined. */
  item(id: string): JsonObject | undefined {
    return this.#outputItems.get(id);
  }

  remove(id: string): void {
    for (const item of outputOf(this.find(id))) this.#outputItems.delete(String(item.id));
    this.#responses.delete(id);
  }

  clear(): void {
    this.#responses.clear();
    this.#outputItems.clear();
  }
}

export function outputOf(stored: StoredResponse | undefined): readonly JsonObject[] {
  return items(member(stored?.response, 'output')).filter(isJsonObject);
}

/** The reply to a request below `/v1/responses/`, or undefined where there is no such path. */
export function storedScript(
  method: string,
  below: string,
  stored: StoredResponses,
): Script | undefined {
  const [id = '', resource, ...rest] = below.split('/');
  if (rest.length > 0) return undefined;
  const found = stored.find(id);
  const isKnown =
    resource === undefined
      ? method === 'GET' || method === 'DELETE'
      : resource === 'input_items' && method === 'GET';
  if (!isKnown) return undefined;
  if (found === undefined) return openaiError(404, `Response with id '${id}' not found.`);
  if (resource !== undefined) return json(200, listOf(found.input));
  if (method === 'GET') return json(200, found.response);
  stored.remove(id);
  return json(200, { id, object: 'response', deleted: true });
}

/** The items with ids, the newest first. */
function listOf(input: readonly JsonObject[]): JsonObject {
  const data = input.map((item, index) => ({ id: `msg_${index + 1}`, ...item })).reverse();
  const [first, last] = [data[0]?.id ?? null, data.at(-1)?.id ?? null];
  return { object: 'list', data, first_id: first, last_id: last, has_more: false };
}

/** A refusal in OpenAI's format; `type` is `invalid_request_error` by default. */
export function openaiError(
  status: number,
  message: string,
  details: { readonly type?: string; readonly param?: string; readonly code?: string } = {},
  headers: ScriptHeaders = {},
): Script {
  const { type = 'invalid_request_error', param = null, code = null } = details;
  return json(status, { error: { message, type, param, code } }, headers);
}

export function openaiFailure(status: 429 | 500 | 503): Script {
  if (status === 429) {
    return openaiError(
      429,
      'Rate limit reached in organization org-fake on requests per min (RPM): Limit 3, Used 3, ' +
        'Requested 1. Please try again in 2s.',
      { type: 'requests', code: 'rate_limit_exceeded' },
      { 'retry-after': '2', 'retry-after-ms': '2000' },
    );
  }
  const message =
    status === 500
      ? 'The server had an error while processing your request. Sorry about that!'
      : 'The server is currently overloaded with other requests. Sorry about that!';
  return openaiError(status, message, { type: 'server_error' });
}

export const openaiStreamError: string = `data: ${JSON.stringify({
  error: {
    message: 'The server had an error while processing your request. Sorry about that!',
    type: 'server_error',
    param: null,
    code: null,
  },
})}\n\n`;

export function refuseBody(body: JsonValue | undefined, required?: string): Script | undefined {
  if (!isJsonObject(body)) {
    return openaiError(
      400,
      "We could not parse the JSON body of your request. (HINT: This likely means you aren't " +
        'using your HTTP library correctly. The OpenAI API expects a JSON payload, but what was ' +
        'sent was not valid JSON.)',
    );
  }
  const model = member(body, 'model');
  if (typeof model !== 'string' || model === '') {
    return openaiError(400, 'you must provide a model parameter');
  }
  if (required === undefined || member(body, required) !== undefined) return undefined;
  const message = `Missing required parameter: '${required}'.`;
  return openaiError(400, message, { param: required, code: 'missing_required_parameter' });
}
