/** Records what a chat stream has contained so far: content, the ends of candidates, and usage. */
import { items, type JsonObject, type JsonValue, member } from '../../json.ts';
import { type CandidateEnds, candidateEnds } from '../candidate-ends.ts';
import { type ContentCount, contentCount } from '../content-count.ts';
import { openaiUsageReader, type StreamUsage, streamUsage } from '../stream-usage.ts';
import { type ByteBounds, byteBounds } from '../tap.ts';
import { hasContentOrFinish, hasFinished } from './chunk.ts';
import { openaiUsageObject } from './usage.ts';

/** What a stream has contained so far. */
export interface StreamRecord {
  readonly counted: ContentCount;
  readonly bounds: ByteBounds;
  readonly usage: StreamUsage;
  /** The ends of several candidates; undefined if there is only one. */
  readonly ends: CandidateEnds | undefined;
  finished: boolean;
  begun: boolean;
  /** Grows with every block that has content. */
  contentBlocks: number;
}

/** Starts empty. */
export function streamRecord(candidates: number, reasoningOutside: boolean): StreamRecord {
  return {
    counted: contentCount(),
    bounds: byteBounds(),
    usage: streamUsage(openaiUsageReader(reasoningOutside)),
    ends: candidates > 1 ? candidateEnds() : undefined,
    finished: false,
    begun: false,
    contentBlocks: 0,
  };
}

/** Records that a block has content. */
export function recordContent(record: StreamRecord): void {
  record.begun = true;
  record.contentBlocks += 1;
}

/** Records the content, the ends and the usage of a chunk. */
export function recordChunk(record: StreamRecord, document: JsonObject): void {
  const hasContent = record.counted.add(document);
  recordFinish(record, items(member(document, 'choices')));
  if (hasContent || hasContentOrFinish(document)) recordContent(record);
  recordUsage(record, document);
}

/** Records the usage that a chunk or an error states. */
export function recordUsage(
  { usage, counted, finished }: StreamRecord,
  document: JsonValue | undefined,
): void {
  if (document === undefined) return;
  usage.add(openaiUsageObject(document), counted.tokens(), finished);
}

function recordFinish(record: StreamRecord, choices: readonly JsonValue[]): void {
  const { ends } = record;
  if (ends === undefined) record.finished ||= choices.some(hasFinished);
  else {
    for (const choice of choices) ends.note(indexOf(choice), hasFinished(choice));
    record.finished = ends.allEnded();
  }
}

/** A vendor that leaves out the index has only one choice. */
function indexOf(choice: JsonValue): number {
  const index = member(choice, 'index');
  return typeof index === 'number' ? index : 0;
}
