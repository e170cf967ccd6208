/**
 * The client codec of one dialect: it writes requests in the wire format of an upstream, and reads
 * the replies and streams. Nothing is sent; a test supplies what the upstream replies.
 */
import type { ContentEvent } from '../../src/canonical/reply.ts';
import type { ContentRequest, FunctionTool, TextPart } from '../../src/canonical/request.ts';
import { type CapabilityTable, capabilitiesOf } from '../../src/dialects/capabilities.ts';
import type {
  ContentClientCodec,
  ContentExchange,
  UpstreamTarget,
} from '../../src/dialects/codec.ts';
import { type JsonValue, parseJson } from '../../src/json.ts';
import type { Capabilities } from '../../src/ports/models/capabilities.ts';
import { plainRequest, user } from './plain-request.ts';

/** The codec under test, and what its tests use by default. */
export interface CodecSetup {
  readonly codec: ContentClientCodec;
  readonly capabilities: CapabilityTable;
  readonly upstreamModel: string;
  /** The id that counts as the given number: 1, 2, … */
  readonly newId: (count: number) => string;
  /** Default: the chat `Hello`. */
  readonly request?: Partial<ContentRequest>;
}

/** The codec, with short forms of its calls. */
export interface CodecHarness {
  /** A request with the given members; the rest is the default request. */
  request(members?: Partial<ContentRequest>): ContentRequest;
  /** An upstream model, with its capabilities except for the given ones. */
  target(upstreamModel?: string, capabilities?: Capabilities): UpstreamTarget;
  /** Writes a request; the exchange reads the reply that the test supplies. */
  begin(members?: Partial<ContentRequest>, target?: UpstreamTarget): ContentExchange;
  /** The body that is sent, parsed, and the members that were dropped. */
  written(members?: Partial<ContentRequest>, target?: UpstreamTarget): WrittenRequest;
  /** The events of a stream, including its end; by default the reply to the default request. */
  streamEvents(
    documents: readonly JsonValue[],
    exchange?: ContentExchange,
  ): readonly ContentEvent[];
}

/** A request as the codec wrote it. */
export interface WrittenRequest {
  readonly body: JsonValue;
  readonly dropped: readonly string[];
}

/** Creates the harness for one codec. */
export function codecHarness(setup: CodecSetup): CodecHarness {
  const { codec, capabilities: table, newId } = setup;
  const request = (members: Partial<ContentRequest> = {}): ContentRequest => ({
    ...plainRequest,
    turns: [user(textPart('Hello'))],
    ...setup.request,
    ...members,
  });
  const target = (
    upstreamModel = setup.upstreamModel,
    capabilities: Capabilities = {},
  ): UpstreamTarget => {
    let count = 0;
    return {
      upstreamModel,
      capabilities: capabilitiesOf(table, upstreamModel, capabilities),
      maxOutputTokens: undefined,
      ids: () => {
        count += 1;
        return newId(count);
      },
    };
  };
  const begin = (members?: Partial<ContentRequest>, to = target()): ContentExchange =>
    codec.begin(request(members), to);
  return {
    request,
    target,
    begin,
    written: (members, to) => {
      const { body, dropped } = begin(members, to);
      return { body: parsed(body), dropped };
    },
    streamEvents: (documents, exchange = begin()) => {
      const reader = exchange.readStream();
      return [...documents.flatMap((document) => reader.read(document)), ...reader.end()];
    },
  };
}

/** A text part. */
export function textPart(text: string, at = 'contents[0].parts[0]'): TextPart {
  return { kind: 'text', text, at };
}

/** A function with only a name. */
export function functionTool(name: string, members: Partial<FunctionTool> = {}): FunctionTool {
  return {
    kind: 'function',
    name,
    description: undefined,
    parameters: undefined,
    strict: undefined,
    at: `tools[0].functionDeclarations[${name}]`,
    ...members,
  };
}

/** Parses text that must be valid JSON. */
export function parsed(json: string): JsonValue {
  const value = parseJson(json);
  if (value === undefined) throw new Error('This is not JSON.');
  return value;
}

/** The documents of an SSE body, parsed without the gateway's code. */
export function documentsOf(sse: string | Uint8Array): readonly JsonValue[] {
  return Buffer.from(sse)
    .toString()
    .split(/\r?\n/)
    .filter((line) => line.startsWith('data: ') && !line.includes('[DONE]'))
    .map((line) => parsed(line.slice('data: '.length)));
}
