/**
 * Plays a conversation of a Responses client over an upstream of another dialect: each reply is
 * written for the caller, sent back in the way of the client, and read again.
 */

import { anthropicCapabilities } from '../../../src/dialects/anthropic/capabilities.ts';
import { anthropicClient } from '../../../src/dialects/anthropic/client/codec.ts';
import { type CapabilityTable, capabilitiesOf } from '../../../src/dialects/capabilities.ts';
import type { ContentClientCodec, ReplyHead } from '../../../src/dialects/codec.ts';
import { geminiCapabilities } from '../../../src/dialects/gemini/capabilities.ts';
import { geminiClient } from '../../../src/dialects/gemini/client/codec.ts';
import { openaiCapabilities } from '../../../src/dialects/openai/capabilities.ts';
import { openaiClient } from '../../../src/dialects/openai/client/codec.ts';
import { openaiResponsesServer } from '../../../src/dialects/openai-responses/server/codec.ts';
import { vendorCapabilities } from '../../../src/dialects/vendors.ts';
import { isJsonObject, items, type JsonObject, type JsonValue, member } from '../../../src/json.ts';
import type { Capabilities, DialectName } from '../../../src/ports/catalog.ts';
import { parsed } from '../../support/codec.ts';
import { responsesEvents } from '../../support/responses-laws.ts';
import { assistantTurns, calledNames, type OutputPart, outputIn } from './model-output.ts';
import { countedHead } from './writer.ts';

/** A model of another API than Responses. */
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

/** How a client sends the output of earlier replies back. */
export type Habit = (output: readonly JsonObject[]) => readonly JsonObject[];

const without = (item: JsonObject, ...names: readonly string[]): JsonObject =>
  Object.fromEntries(Object.entries(item).filter(([name]) => !names.includes(name)));
const isReasoning = (item: JsonObject): boolean => item.type === 'reasoning';
const isCall = ({ type }: JsonObject): boolean =>
  type === 'function_call' || type === 'custom_tool_call';
const textOf = (item: JsonObject): string =>
  items(item.content)
    .map((part) => String(member(part, 'text') ?? member(part, 'refusal')))
    .join('');

/** By the recorded requests of `clients` among the fixtures, and as clients are allowed to. */
export const habits: Readonly<Record<string, Habit>> = {
  'whole items (agents, LangChain)': (output) => output,
  'items without ids': (output) => output.map((item) => without(item, 'id', 'status')),
  'reasoning with null as its content (Codex)': (output) =>
    output.map((item) => (isReasoning(item) ? { ...item, content: null } : item)),
  'summaries cut': (output) =>
    output.map((item) => (isReasoning(item) ? { ...item, summary: [], content: [] } : item)),
  'only sealed reasoning (AI SDK 6, `store: false`)': (output) =>
    output
      .filter((item) => !isReasoning(item) || item.encrypted_content !== undefined)
      .map((item) => {
        if (isCall(item)) return without(item, 'id', 'status');
        if (item.type !== 'message') return item;
        const content = [{ type: 'output_text', text: textOf(item) }];
        return { role: 'assistant', id: item.id ?? null, content };
      }),
  'messages as strings (AI SDK 7, `store: false`)': (output) =>
    output
      .filter((item) => !isReasoning(item) || item.encrypted_content !== undefined)
      .map((item) => {
        if (isCall(item)) return without(item, 'id', 'status');
        return item.type === 'message' ? { role: 'assistant', content: textOf(item) } : item;
      }),
};

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
export function play(
  upstream: Upstream,
  replies: readonly Reply[],
  { habit, settings = {}, last = upstream }: Playing,
): Played {
  const received = replies.map(({ documents }) => outputIn(upstream.dialect, documents));
  const tools = [...new Set(received.flatMap(calledNames))].map((name) => ({
    type: 'function',
    name,
    parameters: { type: 'object', properties: {} },
  }));
  const sent: (readonly (readonly OutputPart[])[])[] = [];
  const dropped: string[] = [];
  let lastBody = '';
  let input: readonly JsonObject[] = [{ role: 'user', content: 'Go.' }];
  for (const reply of [...replies, undefined]) {
    const body = { model: 'm', tools, input, ...settings };
    const model = reply === undefined ? last : upstream;
    const { request, output } = exchange(model, body, reply);
    lastBody = request.body;
    sent.push(assistantTurns(model.dialect, parsed(lastBody)));
    dropped.push(...request.dropped);
    input = [...input, ...habit(output), ...followUp(output)];
  }
  return { received, sent, dropped, lastBody };
}

function exchange(upstream: Upstream, body: JsonObject, reply: Reply | undefined) {
  const capabilities = capabilitiesOf(upstream.table, upstream.model, upstream.own);
  const streamed = reply?.streamed ?? false;
  const caller = openaiResponsesServer.begin(body, { streamed });
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
    return { request, output: objectsOf(items(member(parsed(text), 'output'))) };
  }
  const reader = request.readStream();
  const writer = caller.writeStream(head satisfies ReplyHead);
  const texts = reply.documents.map((document) => writer.write(reader.read(document)));
  const stream = texts.join('') + writer.write(reader.end()) + writer.end();
  const done = responsesEvents(stream).filter(
    ({ data }) => member(data, 'type') === 'response.output_item.done',
  );
  return { request, output: objectsOf(done.map(({ data }) => member(data, 'item') ?? null)) };
}

function objectsOf(values: readonly JsonValue[]): readonly JsonObject[] {
  return values.filter(isJsonObject);
}

/** The results of the calls, or else the next question. */
function followUp(output: readonly JsonObject[]): readonly JsonObject[] {
  const calls = output.filter(isCall);
  if (calls.length === 0) return [{ role: 'user', content: 'Go on.' }];
  return calls.map((call) => ({
    type: `${String(call.type)}_output`,
    call_id: call.call_id ?? null,
    output: 'done',
  }));
}
