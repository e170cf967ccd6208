/**
 * Amazon Bedrock: `InvokeModel`, its stream and `CountTokens` for Claude, and the paths of
 * Anthropic and OpenAI below `/bedrock-mantle`. The replies are those of the fakes of the two.
 */
import { crc32 } from 'node:zlib';
import { isJsonObject, type JsonObject, type JsonValue, member, parseJson } from '../../json.ts';
import { anthropic } from './anthropic.ts';
import { openai } from './openai.ts';
import type { Provider, ProviderRequest, ReplyContext } from './provider.ts';
import { json, type Piece, type Script } from './scripts.ts';

const runtimePath = /^\/model\/([^/]+)\/(invoke|invoke-with-response-stream|count-tokens)$/;
const mantlePath = /^\/bedrock-mantle\/(anthropic|openai)(\/v1\/.*)$/;

export const bedrock: Provider = {
  owns: (path) => runtimePath.test(path) || mantlePath.test(path),
  refuseKey: ({ headers: { authorization } }, apiKey) => {
    // A signature is not checked: the fake does not know the keys of an account.
    const isSigned = authorization?.startsWith('AWS4-HMAC-SHA256 Credential=') === true;
    if (isSigned || authorization === `Bearer ${apiKey}`) return undefined;
    return refusal(403, 'Authentication failed: Please make sure your API Key is valid.');
  },
  reply: (request, context) => {
    const [, dialect, path = ''] = mantlePath.exec(request.path) ?? [];
    if (dialect === undefined) return runtimeReply(request, context);
    return (dialect === 'openai' ? openai : anthropic).reply({ ...request, path }, context);
  },
};

function runtimeReply(request: ProviderRequest, context: ReplyContext): Script {
  const [, segment = '', method] = runtimePath.exec(request.path) ?? [];
  const model = decodeURIComponent(segment);
  if (method === 'count-tokens') return countReply(request, model, context);
  const stream = method === 'invoke-with-response-stream';
  const refused = refusedBody(request.body);
  if (refused !== undefined || !isJsonObject(request.body)) return refused ?? noObject();
  const body = { ...request.body, model, stream };
  return asRuntime(anthropic.reply({ ...request, path: '/v1/messages', body }, context));
}

/** A foundation model: neither an inference profile of a region nor an ARN. */
const foundationModel = /^anthropic\./;

function countReply(request: ProviderRequest, model: string, context: ReplyContext): Script {
  if (!foundationModel.test(model)) {
    return refusal(400, "The provided model doesn't support counting tokens.");
  }
  const encoded = member(member(member(request.body, 'input'), 'invokeModel'), 'body');
  const body = parseJson(Buffer.from(String(encoded ?? ''), 'base64').toString());
  const refused = refusedBody(body);
  if (refused !== undefined || !isJsonObject(body)) return refused ?? noObject();
  const path = '/v1/messages/count_tokens';
  const counted = anthropic.reply({ ...request, path, body: { ...body, model } }, context);
  const document = parseJson(String(counted.body));
  const count = member(document, 'input_tokens');
  return count === undefined ? asRuntime(counted) : json(200, { inputTokens: count });
}

const versions: readonly unknown[] = ['bedrock-2023-05-31', '2026-10-21'];

function refusedBody(body: JsonValue | undefined): Script | undefined {
  const extra = ['model', 'stream'].find((name) => member(body, name) !== undefined);
  if (extra !== undefined) return refusal(400, `${extra}: Extra inputs are not permitted`);
  return versions.includes(member(body, 'anthropic_version'))
    ? undefined
    : refusal(400, 'anthropic_version: Field required');
}

function noObject(): Script {
  return refusal(400, 'Malformed input request, please reformat your input and try again.');
}

const exceptions: Readonly<Record<number, string>> = {
  400: 'ValidationException',
  403: 'AccessDeniedException',
  404: 'ResourceNotFoundException',
  429: 'ThrottlingException',
  500: 'InternalServerException',
};

function refusal(status: number, message: string): Script {
  const name = exceptions[status] ?? 'ServiceUnavailableException';
  return json(status, { message }, { 'x-amzn-errortype': name });
}

/** The reply of the fake of Anthropic in AWS's form. */
function asRuntime(made: Script): Script {
  const { status = 200, body, chunks } = made;
  if (status >= 400) {
    const message = member(member(parseJson(String(body)), 'error'), 'message');
    return { ...made, ...refusal(status, String(message ?? '')) };
  }
  if (chunks === undefined) return made;
  const headers = { 'content-type': 'application/vnd.amazon.eventstream' };
  return { ...made, headers, chunks: [...chunks].map(framed) };
}

/** A piece with one event, as the fake of Anthropic makes them, as one message. */
function framed(piece: Piece): Piece {
  if (piece instanceof Promise) return piece;
  const data = Buffer.from(piece).toString().split('data: ')[1]?.trim() ?? '';
  const event = parseJson(data);
  if (member(event, 'type') === 'error') {
    const message = member(member(event, 'error'), 'message') ?? '';
    return encoded('exception', 'internalServerException', { message });
  }
  return encoded('event', 'chunk', { bytes: Buffer.from(data).toString('base64'), p: 'abcdefgh' });
}

/** @see https://smithy.io/2.0/aws/amazon-eventstream.html */
function encoded(kind: 'event' | 'exception', type: string, document: JsonObject): Buffer {
  const headers = Buffer.concat([
    header(`:${kind}-type`, type),
    header(':content-type', 'application/json'),
    header(':message-type', kind),
  ]);
  const payload = Buffer.from(JSON.stringify(document));
  const prelude = Buffer.alloc(8);
  prelude.writeUInt32BE(headers.length + payload.length + 16);
  prelude.writeUInt32BE(headers.length, 4);
  const message = Buffer.concat([prelude, checksum(prelude), headers, payload]);
  return Buffer.concat([message, checksum(message)]);
}

function header(name: string, value: string): Buffer {
  const length = Buffer.alloc(2);
  length.writeUInt16BE(value.length);
  return Buffer.concat([
    Buffer.from([name.length]),
    Buffer.from(name),
    Buffer.from([7]),
    length,
    Buffer.from(value),
  ]);
}

function checksum(bytes: Buffer): Buffer {
  const sum = Buffer.alloc(4);
  sum.writeUInt32BE(crc32(bytes));
  return sum;
}
