/**
 * Builds a caller's next turn after tool calls like SDKs do, and reads the request sent upstream.
 */
import type { DialectName } from '../../../src/ports/models/capabilities.ts';
import {
  type CallerRequest,
  chat,
  messages,
  native,
  responses,
} from '../../support/any-model-gateway.ts';
import type { Protocol } from './caller-side.ts';
import { isRecord, type Json, list, parsed, record, strings, text } from './tree.ts';

/** The form of the results. */
export interface Echo {
  /** The order of the results, as indexes of the calls. */
  readonly order: readonly number[];
  /** Old Google clients don't use ids. */
  readonly hasIds: boolean;
}

/** The text of result `n`. */
export function resultOf(position: number): Json {
  return { marker: `result-${position}`, degrees: position };
}

/** The request that follows a reply with tool calls: the reply, and the results. */
export function echoed(protocol: Protocol, answer: string, echo: Echo): CallerRequest {
  return echoes[protocol](answer, echo);
}

function chatEcho(answer: string, { order }: Echo): CallerRequest {
  const message = record(record(list(record(JSON.parse(answer)).choices)[0]).message);
  const calls = list(message.tool_calls).map(record);
  const results = order.map((position) => ({
    role: 'tool',
    tool_call_id: calls[position]?.id,
    content: JSON.stringify(resultOf(position)),
  }));
  const tools = namesOf(calls.map(({ function: called }) => record(called))).map((name) => ({
    type: 'function',
    function: { name, parameters: { type: 'object', properties: {} } },
  }));
  const messages = [{ role: 'user', content: 'How is it?' }, message, ...results];
  return chat(JSON.stringify({ model: 'm', messages, tools }));
}

/** The model's content is returned as the same JSON text, so that numbers keep every digit. */
function nativeEcho(answer: string, { order, hasIds }: Echo): CallerRequest {
  const content = record(record(list(record(JSON.parse(answer)).candidates)[0]).content);
  const parts = list(content.parts).map(record);
  const calls = parts.map(({ functionCall }) => functionCall).filter(isRecord);
  const results = order.map((position) => {
    const { id, name } = record(calls[position]);
    const response = resultOf(position);
    return { functionResponse: { ...(hasIds ? { id } : {}), name, response } };
  });
  const functionDeclarations = namesOf(calls).map((name) => ({ name }));
  const reported = hasIds ? parts : parts.map(withoutId);
  return native(
    'json',
    JSON.stringify({
      contents: [
        { role: 'user', parts: [{ text: 'How is it?' }] },
        { role: 'model', parts: reported },
        { role: 'user', parts: results },
      ],
      tools: [{ functionDeclarations }],
    }),
  );
}

/** Every item of the output is returned as it is. */
function responsesEcho(answer: string, { order }: Echo): CallerRequest {
  const output = list(record(JSON.parse(answer)).output).map(record);
  const calls = output.filter(({ type }) => type === 'function_call');
  const results = order.map((position) => ({
    type: 'function_call_output',
    call_id: calls[position]?.call_id,
    output: JSON.stringify(resultOf(position)),
  }));
  const tools = namesOf(calls).map((name) => ({
    type: 'function',
    name,
    parameters: { type: 'object', properties: {} },
  }));
  const input = [{ role: 'user', content: 'How is it?' }, ...output, ...results];
  return responses(JSON.stringify({ model: 'm', input, tools }));
}

/** The content is returned as it is, with the results in the next message. */
function messagesEcho(answer: string, { order }: Echo): CallerRequest {
  const { content } = record(JSON.parse(answer));
  const calls = list(content)
    .map(record)
    .filter(({ type }) => type === 'tool_use');
  const results = order.map((position) => ({
    type: 'tool_result',
    tool_use_id: calls[position]?.id,
    content: JSON.stringify(resultOf(position)),
  }));
  const tools = namesOf(calls).map((name) => ({ name, input_schema: { type: 'object' } }));
  const turns = [
    { role: 'user', content: 'How is it?' },
    { role: 'assistant', content },
    { role: 'user', content: results },
  ];
  return messages(JSON.stringify({ model: 'm', max_tokens: 9, messages: turns, tools }));
}

const echoes: Readonly<Record<Protocol, (answer: string, echo: Echo) => CallerRequest>> = {
  chat: chatEcho,
  native: nativeEcho,
  responses: responsesEcho,
  messages: messagesEcho,
};

function withoutId(part: Json): Json {
  if (!isRecord(part.functionCall)) return part;
  const { id: _, ...call } = part.functionCall;
  return { ...part, functionCall: call };
}

function namesOf(calls: readonly Json[]): readonly string[] {
  return [...new Set(calls.map(({ name }) => text(name)))];
}

/** A call and its result as sent upstream. */
export interface SentCall {
  readonly id: string | undefined;
  readonly name: string;
  readonly args: unknown;
  readonly signature: string | undefined;
}

/** A result as sent upstream. */
export interface SentResult {
  readonly id: string | undefined;
  readonly name: string | undefined;
  /** All its text. */
  readonly content: string;
}

/** The calls and results sent upstream, each in order. */
export interface Sent {
  readonly calls: readonly SentCall[];
  readonly results: readonly SentResult[];
  /** Signatures of reasoning. */
  readonly thoughts: readonly string[];
}

/** Reads a body that was sent. */
export const sentIn: Readonly<Record<DialectName, (body: Json) => Sent>> = {
  openai: ({ messages }) => {
    const all = list(messages).map(record);
    return {
      calls: all
        .flatMap(({ tool_calls }) => list(tool_calls).map(record))
        .map(({ id, function: called }) => ({
          id: text(id),
          name: text(record(called).name),
          args: parsed(text(record(called).arguments)),
          signature: undefined,
        })),
      results: all
        .filter(({ role }) => role === 'tool')
        .map(({ tool_call_id, content }) => ({
          id: text(tool_call_id),
          name: undefined,
          content: allText(content),
        })),
      thoughts: [],
    };
  },
  gemini: ({ contents }) => {
    const parts = list(contents).flatMap((content) => list(record(content).parts).map(record));
    return {
      calls: parts
        .filter(({ functionCall }) => isRecord(functionCall))
        .map(({ functionCall, thoughtSignature }) => ({
          id: optional(record(functionCall).id),
          name: text(record(functionCall).name),
          args: record(functionCall).args,
          signature: optional(thoughtSignature),
        })),
      results: parts
        .map(({ functionResponse }) => functionResponse)
        .filter(isRecord)
        .map(({ id, name, response }) => ({
          id: optional(id),
          name: text(name),
          content: allText(response),
        })),
      thoughts: [],
    };
  },
  anthropic: ({ messages }) => {
    const blocks = list(messages).flatMap((one) => list(record(one).content).map(record));
    return {
      calls: blocks
        .filter(({ type }) => type === 'tool_use')
        .map(({ id, name, input }) => ({
          id: text(id),
          name: text(name),
          args: input,
          signature: undefined,
        })),
      results: blocks
        .filter(({ type }) => type === 'tool_result')
        .map(({ tool_use_id, content }) => ({
          id: text(tool_use_id),
          name: undefined,
          content: allText(content),
        })),
      thoughts: blocks.flatMap(({ signature, data }) =>
        [text(signature), text(data)].filter(Boolean),
      ),
    };
  },
};

function optional(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}

function allText(value: unknown): string {
  return strings(value)
    .map(([, one]) => one)
    .join('');
}
