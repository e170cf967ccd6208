/** Collects the events of a reply, whole or streamed: its content, and the usage beside it. */
import { prefixedId } from '../../../canonical/call-ids.ts';
import { type JsonNode, rawJson } from '../../../canonical/raw-json.ts';
import { type ContentEvent, type ReplyUsage, zeroUsage } from '../../../canonical/reply.ts';
import type { ReplyHead } from '../../codec.ts';
import { type ContentCounter, contentCounter } from '../../taps/event-count.ts';
import type { BlockSink } from './block-sink.ts';
import { type ContentBuilder, contentBuilder } from './content-builder.ts';
import type { ReplyContext } from './exchange.ts';
import type { Finish } from './finish.ts';
import { finalUsage, type MessageUsage, startUsage } from './usage.ts';

export interface OpenMessage {
  add(event: ContentEvent): void;
  /** The message of `message_start`; `usage` comes with the event that starts the reply. */
  start(usage: ReplyUsage | undefined): MessageMembers;
  /** Ends all blocks. Called once. */
  end(): EndedMessage;
  whole(blocks: readonly string[], ended: EndedMessage): MessageMembers;
  isUnusable(): boolean;
  dropped(): readonly string[];
}

type MessageMembers = Readonly<Record<string, JsonNode>>;

export interface EndedMessage {
  /** Why the reply stopped: the `delta` of `message_delta`. */
  readonly stop: MessageMembers;
  readonly usage: MessageUsage;
}

interface MessageState {
  readonly content: ContentBuilder;
  readonly counter: ContentCounter;
  usage: ReplyUsage | undefined;
}

export function openMessage(head: ReplyHead, context: ReplyContext, sink: BlockSink): OpenMessage {
  const needsReasoningBack = head.needsReasoningBack === true;
  const content = contentBuilder({ ...context, sink, needsReasoningBack });
  const state: MessageState = { content, counter: contentCounter(), usage: undefined };
  const id = prefixedId('msg_', head.newId);
  const first = { id, type: 'message', role: 'assistant', model: head.modelId };
  return {
    add: (event) => add(state, event),
    start: (stated) => ({
      ...first,
      content: [],
      stop_reason: null,
      stop_sequence: null,
      usage: startUsage(stated ?? state.usage),
    }),
    end: () => {
      const stop = stopMembers(content.end());
      const prompt = (): number => head.estimatedInputTokens?.() ?? 0;
      const { counter, usage } = state;
      return { stop, usage: finalUsage(usage, { counted: counter.tokens, prompt }) };
    },
    whole: (blocks, { stop, usage: replyUsage }) => ({
      ...first,
      content: blocks.map(rawJson),
      ...stop,
      usage: replyUsage.members,
    }),
    isUnusable: content.isUnusable,
    dropped: content.dropped,
  };
}

function add(state: MessageState, event: ContentEvent): void {
  const { content, counter } = state;
  counter.add(event);
  if ('choice' in event) content.add(event);
  else if (event.type === 'usage') state.usage = event.usage;
  else if (event.type === 'blocked') {
    state.usage ??= zeroUsage;
    content.block(event);
  }
}

function stopMembers({ reason, explanation, sequence }: Finish): MessageMembers {
  const members = { stop_reason: reason, stop_sequence: sequence ?? null };
  if (reason !== 'refusal') return members;
  const details = { type: 'refusal', category: null, explanation: explanation ?? null };
  return { ...members, stop_details: details };
}
