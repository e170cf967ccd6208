/** Writes a whole chat completion from its events. */
import { jsonText } from '../../../canonical/raw-json.ts';
import type { ContentEvent, ReplyUsage } from '../../../canonical/reply.ts';
import type { ReplyHead, WrittenReply } from '../../codec.ts';
import { type ChoiceDraft, choiceDraft } from './choice-draft.ts';
import { type ReplySource, replyId, usagePiece, zeroUsage } from './reply-pieces.ts';

/** Writes at least one choice, because clients read the first one without checking. */
export function writeReply(events: readonly ContentEvent[], head: ReplyHead): WrittenReply {
  const start = events.find((event) => event.type === 'start');
  const id = replyId(start?.id, head.fallbackId);
  const drafts = draftsOf(events, { id, createdSeconds: head.createdSeconds });
  const isBlocked = events.some(({ type }) => type === 'blocked');
  const usage = lastUsage(events) ?? (isBlocked ? zeroUsage : undefined);
  const text = jsonText({
    id,
    object: 'chat.completion',
    created: head.createdSeconds,
    model: head.modelId,
    choices: drafts.map((draft) => draft.piece()),
    usage: usage === undefined ? undefined : usagePiece(usage),
  });
  const dropped = new Set(drafts.flatMap((draft) => draft.dropped()));
  return { text, dropped: [...dropped] };
}

function draftsOf(events: readonly ContentEvent[], reply: ReplySource): readonly ChoiceDraft[] {
  const drafts = new Map<number, ChoiceDraft>();
  const draftOf = (index: number): ChoiceDraft => {
    const draft = drafts.get(index) ?? choiceDraft(index, reply);
    drafts.set(index, draft);
    return draft;
  };
  for (const event of events) {
    if (event.type === 'blocked') draftOf(0).block(event);
    else if ('choice' in event) draftOf(event.choice).add(event);
  }
  if (drafts.size === 0) draftOf(0);
  return [...drafts.values()].sort((one, other) => one.index - other.index);
}

function lastUsage(events: readonly ContentEvent[]): ReplyUsage | undefined {
  const event = events.findLast(({ type }) => type === 'usage');
  return event?.type === 'usage' ? event.usage : undefined;
}
