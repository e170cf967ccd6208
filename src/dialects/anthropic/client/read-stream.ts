/** Reads a streamed reply of Anthropic's Messages API, event by event. */
import type { ContentEvent } from '../../../canonical/reply.ts';
import { type JsonValue, member } from '../../../json.ts';
import type { ContentStreamReader } from '../../codec.ts';
import { type UsageMerger, usageMerger } from '../../usage/stream-usage.ts';
import { anthropicUsageReader } from '../usage.ts';
import { readFinish, type StatedFinish } from './finish.ts';
import { BlockReader, noEvents, type ReadContext } from './read-choice.ts';
import { startEvent } from './read-reply.ts';

interface StreamState {
  readonly blocks: BlockReader;
  readonly merge: UsageMerger;
  stop: StatedFinish;
  started: boolean;
  startedId: JsonValue | undefined;
  stopped: boolean;
}

/** Creates the reader of one reply. Unknown events are ignored. */
export function readStream(context: ReadContext): ContentStreamReader {
  const blocks = new BlockReader(context);
  const stream: StreamState = {
    blocks,
    merge: usageMerger(anthropicUsageReader),
    stop: { reason: undefined, explanation: undefined },
    started: false,
    startedId: undefined,
    stopped: false,
  };
  return {
    read: (document) => (stream.stopped ? noEvents : read(stream, document)),
    end: () => [...blocks.rest(), blocks.endEvent(stream.stop)],
    complete: () => stream.stopped || stream.stop.reason !== undefined,
    finished: () => stream.stopped,
  };
}

function read(stream: StreamState, document: JsonValue): readonly ContentEvent[] {
  const { blocks } = stream;
  switch (member(document, 'type')) {
    case 'content_block_delta':
      return blocks.delta(indexOf(document), member(document, 'delta'));
    case 'content_block_start':
      return blocks.open(indexOf(document), member(document, 'content_block'));
    case 'content_block_stop':
      return blocks.close(indexOf(document));
    case 'message_start':
      return readStart(stream, member(document, 'message'));
    case 'message_delta':
      return readChange(stream, document);
    case 'message_stop':
      stream.stopped = true;
      return noEvents;
    default:
      return noEvents;
  }
}

/**
 * Proxies repeat `message_start`; the repeats are ignored. Another message in the middle of a block
 * means that two streams were mixed, and neither is complete.
 */
function readStart(stream: StreamState, message: JsonValue | undefined): readonly ContentEvent[] {
  const counted = readUsage(stream, member(message, 'usage'));
  const id = member(message, 'id');
  if (stream.started && id !== stream.startedId && stream.blocks.hasOpen()) {
    return [...counted, { type: 'unusable', reason: 'upstream_bad_stream' }];
  }
  if (stream.started) return counted;
  stream.started = true;
  stream.startedId = id;
  return [startEvent(message), ...counted];
}

function readChange(stream: StreamState, document: JsonValue): readonly ContentEvent[] {
  const latest = readFinish(member(document, 'delta'));
  stream.stop = {
    reason: latest.reason ?? stream.stop.reason,
    explanation: latest.explanation ?? stream.stop.explanation,
  };
  return readUsage(stream, member(document, 'usage'));
}

function readUsage({ merge }: StreamState, stated: JsonValue | undefined): readonly ContentEvent[] {
  const usage = merge(stated);
  return usage === undefined ? noEvents : [{ type: 'usage', usage }];
}

function indexOf(document: JsonValue): number {
  const index = member(document, 'index');
  return typeof index === 'number' ? index : 0;
}
