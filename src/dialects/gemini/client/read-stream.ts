/**
 * Reads a Gemini reply event by event. The finish is held back until the end, because Google may
 * send STOP with every event, and sends tool calls before the event with the finish.
 */
import { newCallId } from '../../../canonical/call-ids.ts';
import type { ContentEvent, ReplyUsage } from '../../../canonical/reply.ts';
import { isJsonObject, items, type JsonValue, member, nonEmpty } from '../../../json.ts';
import type { ContentStreamReader } from '../../codec.ts';
import { geminiUsageReader, type UsageMerger, usageMerger } from '../../usage/stream-usage.ts';
import { noCounts } from '../../usage/usage-counts.ts';
import { replyUsageOf } from '../../usage/usage-reading.ts';
import type { CandidateContext } from './calls.ts';
import type { Finish } from './finish.ts';
import { CandidateReader } from './read-choice.ts';

export interface ReadContext {
  readonly ids: () => string;
  readonly callerName: (upstreamName: string) => string;
}

interface ReplyState extends Omit<CandidateContext, 'choice'> {
  readonly candidates: Map<number, CandidateReader>;
  hasStarted: boolean;
  blockReason: string | undefined;
  readonly merge: UsageMerger;
  hasUsage: boolean;
  usage: ReplyUsage | undefined;
}

export function readStream({ ids, callerName }: ReadContext): ContentStreamReader {
  let events: ContentEvent[] = [];
  const takeEvents = (): readonly ContentEvent[] => {
    const all = events;
    events = [];
    return all;
  };
  const candidates = new Map<number, CandidateReader>();
  const reply: ReplyState = {
    candidates,
    emit: (event) => {
      events.push(event);
    },
    callId: uniqueIds(ids),
    callerName,
    hasStarted: false,
    blockReason: undefined,
    merge: usageMerger(geminiUsageReader),
    hasUsage: false,
    usage: undefined,
  };
  return {
    read: (document) => {
      readDocument(reply, document);
      return takeEvents();
    },
    end: () => {
      if (!isBlocked(reply)) emitEndings(reply);
      emitUsage(reply);
      return takeEvents();
    },
    complete: () => {
      const all = [...candidates.values()];
      return isBlocked(reply) || (all.length > 0 && all.every((one) => one.isFinished()));
    },
  };
}

function readDocument(reply: ReplyState, document: JsonValue): void {
  readStart(reply, document);
  if (!isBlocked(reply)) readCandidates(reply, document);
  readBlock(reply, document);
  readUsage(reply, document);
}

function readStart(reply: ReplyState, document: JsonValue): void {
  const id = nonEmpty(member(document, 'responseId'));
  const model = nonEmpty(member(document, 'modelVersion'));
  if (!reply.hasStarted && (id ?? model) !== undefined) reply.emit({ type: 'start', id, model });
  reply.hasStarted = true;
}

function isBlocked({ blockReason, candidates }: ReplyState): boolean {
  return blockReason !== undefined && candidates.size === 0;
}

function readCandidates(
  { candidates, emit, callId, callerName }: ReplyState,
  document: JsonValue,
): void {
  for (const [position, candidate] of items(member(document, 'candidates')).entries()) {
    const choice = choiceOf(candidate, position);
    if (choice >= maxCandidates) return;
    const known = candidates.get(choice);
    const reader = known ?? new CandidateReader({ choice, emit, callId, callerName });
    if (known === undefined) candidates.set(choice, reader);
    reader.read(candidate);
  }
}

function readBlock(reply: ReplyState, document: JsonValue): void {
  const feedback = member(document, 'promptFeedback');
  const reason = nonEmpty(member(feedback, 'blockReason'));
  if (reason === undefined || reply.blockReason !== undefined) return;
  reply.blockReason = reason;
  const message = nonEmpty(member(feedback, 'blockReasonMessage'));
  if (reply.candidates.size === 0) reply.emit({ type: 'blocked', reason, message });
}

function readUsage(reply: ReplyState, document: JsonValue): void {
  const stated = member(document, 'usageMetadata');
  const usage = reply.merge(stated);
  // Zero counts after real ones don't change the usage and are ignored.
  if (!isJsonObject(stated) || (usage ?? reply.usage) !== usage) return;
  reply.hasUsage = true;
  reply.usage = usage;
  emitUsage(reply);
}

/** Google leaves out zeros, so that the usage of a blocked prompt may state none. */
function emitUsage({ candidates, usage, hasUsage, emit }: ReplyState): void {
  if (usage !== undefined) emit({ type: 'usage', usage });
  else if (hasUsage && candidates.size === 0) {
    emit({ type: 'usage', usage: replyUsageOf(noCounts, noCounts, false) });
  }
}

/** Far above Google's limit. Every further candidate would slow down each later event. */
const maxCandidates = 128;

/** The candidate's index. Google leaves out 0; an invalid index is replaced by the position. */
function choiceOf(candidate: JsonValue, position: number): number {
  const index = member(candidate, 'index');
  const isValid = typeof index === 'number' && Number.isInteger(index) && index >= 0;
  return isValid && index < maxCandidates ? index : position;
}

function uniqueIds(ids: () => string): (upstreamId: string | undefined) => string {
  const used = new Set<string>();
  return (upstreamId) => {
    const id = upstreamId === undefined || used.has(upstreamId) ? newCallId(ids) : upstreamId;
    used.add(id);
    return id;
  };
}

/** Emits a finish for every choice, or one `unusable` event if no choice can be used. */
function emitEndings({ candidates, blockReason, emit }: ReplyState): void {
  const finishes: [number, Finish][] = [];
  for (const [choice, reader] of [...candidates].sort(([one], [two]) => one - two)) {
    reader.close();
    finishes.push([choice, reader.finish(blockReason)]);
  }
  if (finishes.every(([, { unusable }]) => unusable !== undefined)) {
    const reason = finishes[0]?.[1].unusable ?? 'upstream_empty_response';
    emit({ type: 'unusable', reason });
    return;
  }
  for (const [choice, finish] of finishes) emit(finishEvent(choice, finish));
}

function finishEvent(choice: number, finish: Finish): ContentEvent {
  const { unusable, reason, native, message } = finish;
  return {
    type: 'finish',
    choice,
    // An unusable choice next to usable ones ends with `other`.
    reason: unusable === undefined ? reason : 'other',
    ...(native === undefined ? {} : { native }),
    ...(message === undefined ? {} : { message }),
  };
}
