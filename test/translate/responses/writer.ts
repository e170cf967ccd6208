/** Writes events as a Responses reply, whole and streamed, and reads what was written. */
import type { ContentEvent } from '../../../src/canonical/reply.ts';
import type { ReplyHead } from '../../../src/dialects/codec.ts';
import type {
  CallerTool,
  ReplyContext,
} from '../../../src/dialects/openai/responses/server/exchange.ts';
import { writeReply } from '../../../src/dialects/openai/responses/server/write-reply.ts';
import { writeStream } from '../../../src/dialects/openai/responses/server/write-stream.ts';
import { items, type JsonValue, member } from '../../../src/json.ts';
import { parsed } from '../../support/codec.ts';
import { type ResponsesEvent, responsesEvents } from '../../support/laws/responses-laws.ts';

/** The request's tools by their flat names: a function, a custom tool, and two in a namespace. */
const tools: ReadonlyMap<string, CallerTool> = new Map([
  ['weather', { namespace: undefined, name: 'weather', kind: 'function' }],
  ['patch', { namespace: undefined, name: 'patch', kind: 'custom' }],
  ['agents__spawn', { namespace: 'agents', name: 'spawn', kind: 'function' }],
  ['functions__exec', { namespace: 'functions', name: 'exec', kind: 'custom' }],
]);

/** The request of these tests: it sees no reasoning and no logprobs. */
export const plainContext: ReplyContext = {
  body: {
    metadata: { a: 'line\u2028end' },
    instructions: 'Be brief.',
    tools: [{ type: 'function', name: 'weather' }],
  },
  tools: { find: (name) => tools.get(name) },
  wantsSummary: false,
  wantsLogprobs: false,
  stores: true,
};

/** The same request, but the caller wants to see summaries of the reasoning. */
export const summaryContext: ReplyContext = { ...plainContext, wantsSummary: true };

/** The metadata of a reply whose ids count from 1. */
export function countedHead(members: Partial<ReplyHead> = {}): ReplyHead {
  let count = 0;
  return {
    fallbackId: 'fallback',
    createdSeconds: 1_795_177_645,
    newId: () => {
      count += 1;
      return `n${count}`;
    },
    modelId: 'some/model:1',
    wantsUsage: true,
    framing: 'sse',
    ...members,
  };
}

/** A reply as a caller of either kind gets it. */
export interface WrittenStream {
  readonly text: string;
  readonly events: readonly ResponsesEvent[];
  /** The response object of the terminal event. */
  readonly response: JsonValue;
}

/** The stream for the events; each row is the events of one upstream frame. */
export function streamOf(
  rows: readonly (readonly ContentEvent[])[],
  context: ReplyContext = plainContext,
  head: Partial<ReplyHead> = {},
): WrittenStream {
  const writer = writeStream(countedHead(head), context);
  const text = `${rows.map((row) => writer.write(row)).join('')}${writer.end()}`;
  const events = responsesEvents(text);
  return { text, events, response: member(events.at(-1)?.data, 'response') ?? null };
}

/** The whole reply for the events. */
export function wholeOf(
  events: readonly ContentEvent[],
  context: ReplyContext = plainContext,
  head: Partial<ReplyHead> = {},
): JsonValue {
  return parsed(writeReply(events, countedHead(head), context).text);
}

/** The output of a response object. */
export function outputOf(response: JsonValue): readonly JsonValue[] {
  return items(member(response, 'output'));
}

/** The types of the events. */
export function typesOf(events: readonly ResponsesEvent[]): readonly string[] {
  return events.map(({ data }) => String(member(data, 'type')).replace(/^response\./, ''));
}
