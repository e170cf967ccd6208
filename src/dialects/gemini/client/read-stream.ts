/**
 * Reads a Gemini reply event by event. The finish is held back until the end, because Google may
 * send STOP with every event, and sends tool calls before the event with the finish.
 */
import { newCallId } from '../../../canonical/call-ids.ts';
import type { ContentEvent, UsageGap } from '../../../canonical/reply.ts';
import { items, type JsonObject, type JsonValue, member } from '../../../json.ts';
import type { ContentStreamReader } from '../../codec.ts';
import { withGap } from '../../stream-usage.ts';
import { mergedUsage } from '../../usage-counts.ts';
import {
  geminiBlockedUsage,
  geminiGap,
  geminiReplyUsage,
  geminiUsageMembers,
  withImpliedOutput,
} from '../reply-usage.ts';
import type { CandidateContext } from './calls.ts';
import { type CandidateReader, candidateReader } from './candidate.ts';
import type { CandidateEnding } from './ending.ts';

/** What the reader needs to know about the request. */
export interface ReadContext {
  readonly ids: () => string;
  readonly callerName: (upstreamName: string) => string;
}

/** Creates the reader of one reply. */
export function readStream({ ids, callerName }: ReadContext): ContentStreamReader {
  const candidates = new Map<number, CandidateReader>();
  const callId = uniqueIds(ids);
  let events: ContentEvent[] = [];
  let hasStarted = false;
  let blockReason: string | undefined;
  let usage: JsonObject | undefined;
  let gap: UsageGap;

  const emit = (event: ContentEvent): void => {
    events.push(event);
  };

  const takeEvents = (): readonly ContentEvent[] => {
    const all = events;
    events = [];
    return all;
  };

  const readStart = (document: JsonValue): void => {
    const id = text(member(document, 'responseId'));
    const model = text(member(document, 'modelVersion'));
    if (!hasStarted && (id ?? model) !== undefined) emit({ type: 'start', id, model });
    hasStarted = true;
  };

  const readBlock = (document: JsonValue): void => {
    const feedback = member(document, 'promptFeedback');
    const reason = text(member(feedback, 'blockReason'));
    if (reason === undefined || blockReason !== undefined) return;
    blockReason = reason;
    const message = text(member(feedback, 'blockReasonMessage'));
    if (candidates.size === 0) emit({ type: 'blocked', reason, message });
  };

  const isBlocked = (): boolean => blockReason !== undefined && candidates.size === 0;

  const readCandidates = (document: JsonValue): void => {
    for (const [position, candidate] of items(member(document, 'candidates')).entries()) {
      const choice = choiceOf(candidate, position);
      if (choice >= maxCandidates) return;
      const known = candidates.get(choice);
      const context: CandidateContext = { choice, emit, callId, callerName };
      const reader = known ?? candidateReader(context);
      if (known === undefined) candidates.set(choice, reader);
      reader.read(candidate);
    }
  };

  const readUsage = (document: JsonValue): void => {
    const stated = withImpliedOutput(usage, member(document, 'usageMetadata'));
    const merged = mergedUsage(usage, stated, geminiUsageMembers);
    // Zero counts after real ones don't change the usage and are ignored.
    if (merged === usage) return;
    usage = merged;
    gap = geminiGap(stated);
    emitUsage();
  };

  const emitUsage = (): void => {
    const read = candidates.size === 0 ? geminiBlockedUsage : geminiReplyUsage;
    const figures = read(usage);
    if (figures !== undefined) emit({ type: 'usage', usage: withGap(figures, gap) });
  };

  return {
    read: (document) => {
      readStart(document);
      if (!isBlocked()) readCandidates(document);
      readBlock(document);
      readUsage(document);
      return takeEvents();
    },
    end: () => {
      if (!isBlocked()) emitEndings(candidates, blockReason, emit);
      emitUsage();
      return takeEvents();
    },
    complete: () => {
      const all = [...candidates.values()];
      return isBlocked() || (all.length > 0 && all.every((one) => one.isFinished()));
    },
  };
}

function text(value: JsonValue | undefined): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined;
}

/** Far above Google's limit. Every further candidate would slow down each later event. */
const maxCandidates = 128;

/** The candidate's index. Google leaves out 0; an invalid index is replaced by the position. */
function choiceOf(candidate: JsonValue, position: number): number {
  const index = member(candidate, 'index');
  const isValid = typeof index === 'number' && Number.isInteger(index) && index >= 0;
  return isValid && index < maxCandidates ? index : position;
}

/** Returns ids that are unique within the reply. */
function uniqueIds(ids: () => string): (upstreamId: string | undefined) => string {
  const used = new Set<string>();
  return (upstreamId) => {
    const id = upstreamId === undefined || used.has(upstreamId) ? newCallId(ids) : upstreamId;
    used.add(id);
    return id;
  };
}

/** Emits a finish for every choice, or one `unusable` event if no choice can be used. */
function emitEndings(
  candidates: ReadonlyMap<number, CandidateReader>,
  blockReason: string | undefined,
  emit: (event: ContentEvent) => void,
): void {
  const endings: [number, CandidateEnding][] = [];
  for (const [choice, reader] of [...candidates].sort(([one], [two]) => one - two)) {
    reader.close();
    endings.push([choice, reader.ending(blockReason)]);
  }
  if (endings.every(([, { unusable }]) => unusable !== undefined)) {
    const reason = endings[0]?.[1].unusable ?? 'upstream_empty_response';
    emit({ type: 'unusable', reason });
    return;
  }
  for (const [choice, ending] of endings) emit(finishOf(choice, ending));
}

function finishOf(choice: number, ending: CandidateEnding): ContentEvent {
  const { unusable, reason, native, message } = ending;
  return {
    type: 'finish',
    choice,
    // An unusable choice next to usable ones ends with `other`.
    reason: unusable === undefined ? reason : 'other',
    ...(native === undefined ? {} : { native }),
    ...(message === undefined ? {} : { message }),
  };
}
