/** Collects the events of a reply, whole or streamed: its content, and the usage beside it. */
import { prefixedId } from '../../../canonical/call-ids.ts';
import { type JsonNode, rawJson } from '../../../canonical/raw-json.ts';
import { type ContentEvent, type ReplyUsage, zeroUsage } from '../../../canonical/reply.ts';
import type { ReplyHead } from '../../codec.ts';
import { contentCounter } from '../../taps/event-count.ts';
import type { BlockSink } from './block-sink.ts';
import { ContentBuilder } from './content-builder.ts';
import type { ReplyContext } from './exchange.ts';
import type { Finish } from './finish.ts';
import { finalUsage, type MessageUsage, startUsage } from './usage.ts';

type MessageMembers = Readonly<Record<string, JsonNode>>;

export interface EndedMessage {
  /** Why the reply stopped: the `delta` of `message_delta`. */
  readonly stop: MessageMembers;
  readonly usage: MessageUsage;
}

export class OpenMessage {
  readonly content: ContentBuilder;
  readonly #head: ReplyHead;
  readonly #first: MessageMembers;
  readonly #counter = contentCounter();
  #usage: ReplyUsage | undefined;

  constructor(head: ReplyHead, context: ReplyContext, sink: BlockSink) {
    const needsReasoningBack = head.needsReasoningBack === true;
    this.content = new ContentBuilder({ ...context, sink, needsReasoningBack });
    this.#head = head;
    const id = prefixedId('msg_', head.newId);
    this.#first = { id, type: 'message', role: 'assistant', model: head.modelId };
  }

  add(event: ContentEvent): void {
    this.#counter.add(event);
    if ('choice' in event) this.content.add(event);
    else if (event.type === 'usage') this.#usage = event.usage;
    else if (event.type === 'blocked') {
      this.#usage ??= zeroUsage;
      this.content.block(event);
    }
  }

  /** The message of `message_start`; `stated` comes with the event that starts the reply. */
  start(stated: ReplyUsage | undefined): MessageMembers {
    const usage = startUsage(stated ?? this.#usage);
    return { ...this.#first, content: [], stop_reason: null, stop_sequence: null, usage };
  }

  /** Ends all blocks. Called once. */
  end(): EndedMessage {
    const stop = stopMembers(this.content.end());
    const prompt = (): number => this.#head.estimatedInputTokens?.() ?? 0;
    const counted = (): number => this.#counter.tokens();
    return { stop, usage: finalUsage(this.#usage, { counted, prompt }) };
  }

  whole(blocks: readonly string[], { stop, usage }: EndedMessage): MessageMembers {
    return { ...this.#first, content: blocks.map(rawJson), ...stop, usage: usage.members };
  }
}

function stopMembers({ reason, explanation, sequence }: Finish): MessageMembers {
  const members = { stop_reason: reason, stop_sequence: sequence ?? null };
  if (reason !== 'refusal') return members;
  const details = { type: 'refusal', category: null, explanation: explanation ?? null };
  return { ...members, stop_details: details };
}
