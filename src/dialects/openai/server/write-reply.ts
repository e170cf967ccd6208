/** Writes a whole chat completion from its events. */
import { jsonText } from '../../../canonical/raw-json.ts';
import { type ContentEvent, zeroUsage } from '../../../canonical/reply.ts';
import type { ReplyHead, WrittenReply } from '../../codec.ts';
import { ChoiceBuilder } from './choice-builder.ts';
import { MessageSink, type ReplySource } from './choice-sink.ts';
import { replyId, usagePiece } from './usage.ts';

interface Choice {
  readonly builder: ChoiceBuilder;
  readonly sink: MessageSink;
}

/** Writes at least one choice, because clients read the first one without checking. */
export function writeReply(events: readonly ContentEvent[], head: ReplyHead): WrittenReply {
  const start = events.find((event) => event.type === 'start');
  const id = replyId(start?.id, head.fallbackId);
  const choices = choicesOf(events, { id, createdSeconds: head.createdSeconds });
  for (const { builder } of choices) builder.end();
  const stated = events.findLast((event) => event.type === 'usage')?.usage;
  const isBlocked = events.some(({ type }) => type === 'blocked');
  const usage = stated ?? (isBlocked ? zeroUsage : undefined);
  const text = jsonText({
    id,
    object: 'chat.completion',
    created: head.createdSeconds,
    model: head.modelId,
    choices: choices.map(({ sink }) => sink.choice()),
    usage: usage === undefined ? undefined : usagePiece(usage),
  });
  return { text, dropped: [...new Set(choices.flatMap(({ builder }) => builder.dropped()))] };
}

function choicesOf(events: readonly ContentEvent[], reply: ReplySource): readonly Choice[] {
  const choices = new Map<number, Choice>();
  const builderOf = (index: number): ChoiceBuilder => {
    const known = choices.get(index);
    if (known !== undefined) return known.builder;
    const sink = new MessageSink(index, reply);
    const builder = new ChoiceBuilder(index, sink);
    choices.set(index, { builder, sink });
    return builder;
  };
  for (const event of events) {
    if (event.type === 'blocked') builderOf(0).block(event);
    else if ('choice' in event) builderOf(event.choice).add(event);
  }
  if (choices.size === 0) builderOf(0);
  return [...choices.values()].sort((one, other) => one.builder.index - other.builder.index);
}
