/**
 * Plays a conversation over an upstream of another dialect: each reply is written for the caller,
 * sent back in the way of a client, and read again.
 */

import { anthropicClient } from '../../src/dialects/anthropic/client/codec.ts';
import { anthropicCapabilities } from '../../src/dialects/anthropic/dialect.ts';
import { type CapabilityTable, capabilitiesOf } from '../../src/dialects/capabilities.ts';
import type { ContentClientCodec, ContentServerCodec } from '../../src/dialects/codec.ts';
import { geminiClient } from '../../src/dialects/gemini/client/codec.ts';
import { geminiCapabilities } from '../../src/dialects/gemini/dialect.ts';
import { openaiClient } from '../../src/dialects/openai/client/codec.ts';
import { openaiCapabilities } from '../../src/dialects/openai/dialect.ts';
import { vendorCapabilities } from '../../src/dialects/vendors.ts';
import type { JsonObject, JsonValue } from '../../src/json.ts';
import type { Capabilities, DialectName } from '../../src/ports/models/capabilities.ts';
import { parsed } from '../support/codec.ts';
import {
  assistantTurns,
  calledNames,
  type OutputPart,
  outputIn,
} from './responses/model-output.ts';
import { countedHead } from './responses/writer.ts';

/** A model whose API is not the caller's. */
export interface Upstream {
  readonly dialect: DialectName;
  readonly codec: ContentClientCodec;
  readonly table: CapabilityTable;
  readonly model: string;
  readonly own?: Capabilities;
}

/** The upstreams of these tests; compatible servers have the capabilities of their vendor. */
export const upstreams: Readonly<Record<UpstreamName, Upstream>> = {
  anthropic: {
    dialect: 'anthropic',
    codec: anthropicClient,
    table: anthropicCapabilities,
    model: 'claude-opus-5',
  },
  gemini: {
    dialect: 'gemini',
    codec: geminiClient,
    table: geminiCapabilities,
    model: 'gemini-3-flash',
  },
  openai: {
    dialect: 'openai',
    codec: openaiClient,
    table: openaiCapabilities,
    model: 'gpt-5.2',
  },
  deepseek: {
    dialect: 'openai',
    codec: openaiClient,
    table: openaiCapabilities,
    model: 'deepseek-chat',
    own: vendorCapabilities.deepseek,
  },
  google: {
    dialect: 'openai',
    codec: openaiClient,
    table: openaiCapabilities,
    model: 'gemini-3-flash',
    own: vendorCapabilities.google,
  },
  openrouter: {
    dialect: 'openai',
    codec: openaiClient,
    table: openaiCapabilities,
    model: 'anthropic/claude-sonnet-4',
    own: vendorCapabilities.openrouter,
  },
};

type UpstreamName = 'anthropic' | 'gemini' | 'openai' | 'deepseek' | 'google' | 'openrouter';

/** A reply of the upstream: its documents, one if it isn't streamed. */
export interface Reply {
  readonly streamed: boolean;
  readonly documents: readonly JsonValue[];
}

/** The API of the caller: how requests hold a conversation, and where replies have output. */
export interface CallerApi {
  readonly codec: ContentServerCodec;
  /** The first message of the user. */
  readonly question: JsonObject;
  body(tools: readonly string[], history: readonly JsonObject[]): JsonObject;
  /** The output of a reply, as its client has it. */
  output(text: string, streamed: boolean): readonly JsonObject[];
  /** What the client adds to the conversation: the output, and the results or the next question. */
  next(output: readonly JsonObject[], sentBack: readonly JsonObject[]): readonly JsonObject[];
}

/** How a client sends the output of earlier replies back. */
export type Habit = (output: readonly JsonObject[]) => readonly JsonObject[];

/** A conversation that was played. */
export interface Played {
  /** The output of the model in each reply. */
  readonly received: readonly (readonly OutputPart[])[];
  /** The assistant turns of each request. */
  readonly sent: readonly (readonly (readonly OutputPart[])[])[];
  /** What could not be sent, of all requests. */
  readonly dropped: readonly string[];
  /** The body of the last request. */
  readonly lastBody: string;
}

/** The client, and the model that gets the last request if it is another one. */
export interface Playing {
  readonly habit: Habit;
  readonly settings?: JsonObject;
  readonly last?: Upstream;
}

/** Plays the replies one after the other, and one request more. */
export function playAs(
  api: CallerApi,
  upstream: Upstream,
  replies: readonly Reply[],
  { habit, settings = {}, last = upstream }: Playing,
): Played {
  const received = replies.map(({ documents }) => outputIn(upstream.dialect, documents));
  const tools = [...new Set(received.flatMap(calledNames))];
  const sent: (readonly (readonly OutputPart[])[])[] = [];
  const dropped: string[] = [];
  let lastBody = '';
  let history: readonly JsonObject[] = [api.question];
  for (const reply of [...replies, undefined]) {
    const model = reply === undefined ? last : upstream;
    const body = { ...api.body(tools, history), ...settings };
    const { request, output } = exchange(api, model, body, reply);
    lastBody = request.body;
    sent.push(assistantTurns(model.dialect, parsed(lastBody)));
    dropped.push(...request.dropped);
    history = [...history, ...api.next(output, habit(output))];
  }
  return { received, sent, dropped, lastBody };
}

function exchange(api: CallerApi, upstream: Upstream, body: JsonObject, reply: Reply | undefined) {
  const capabilities = capabilitiesOf(upstream.table, upstream.model, upstream.own);
  const streamed = reply?.streamed ?? false;
  const caller = api.codec.begin(body, { streamed });
  let ids = 0;
  const request = upstream.codec.begin(caller.request, {
    upstreamModel: upstream.model,
    capabilities,
    maxOutputTokens: undefined,
    ids: () => {
      ids += 1;
      return `made${ids}`;
    },
  });
  if (reply === undefined) return { request, output: [] };
  const head = countedHead({ needsReasoningBack: capabilities.reasoningHistory });
  if (!reply.streamed) {
    const events = request.readReply(reply.documents[0] ?? null);
    const { text } = caller.writeReply(events, { ...head, framing: 'json' });
    return { request, output: api.output(text, false) };
  }
  const reader = request.readStream();
  const writer = caller.writeStream(head);
  const texts = reply.documents.map((document) => writer.write(reader.read(document)));
  const stream = texts.join('') + writer.write(reader.end()) + writer.end();
  return { request, output: api.output(stream, true) };
}
