/** Reads a streamed reply of Anthropic's Messages API, event by event. */
import type { ContentEvent } from '../../../canonical/reply.ts';
import { type JsonValue, member } from '../../../json.ts';
import type { ContentStreamReader } from '../../codec.ts';
import { usageMerger } from '../../stream-usage.ts';
import { anthropicUsageReader } from '../reply-usage.ts';
import { blockReader, endEvent, noEvents, type ReadContext } from './blocks.ts';
import { readStop, type Stop } from './finish.ts';
import { startEvent } from './read-reply.ts';

/** Creates the reader of one reply. Unknown events are ignored. */
export function readStream(context: ReadContext): ContentStreamReader {
  const blocks = blockReader(context);
  const merge = usageMerger(anthropicUsageReader);
  let stop: Stop = { reason: undefined, explanation: undefined };
  let started = false;
  let startedId: JsonValue | undefined;
  let stopped = false;

  const count = (more: JsonValue | undefined): readonly ContentEvent[] => {
    const figures = merge(more);
    return figures === undefined ? noEvents : [{ type: 'usage', usage: figures }];
  };

  /**
   * Proxies repeat `message_start`; the repeats are ignored. Another message in the middle of a
   * block means that two streams were mixed, and neither is complete.
   */
  const start = (message: JsonValue | undefined): readonly ContentEvent[] => {
    const counted = count(member(message, 'usage'));
    const id = member(message, 'id');
    if (started && id !== startedId && blocks.hasOpen()) {
      return [...counted, { type: 'unusable', reason: 'upstream_bad_stream' }];
    }
    if (started) return counted;
    started = true;
    startedId = id;
    return [startEvent(message), ...counted];
  };

  const change = (document: JsonValue): readonly ContentEvent[] => {
    const latest = readStop(member(document, 'delta'));
    stop = {
      reason: latest.reason ?? stop.reason,
      explanation: latest.explanation ?? stop.explanation,
    };
    return count(member(document, 'usage'));
  };

  return {
    read: (document) => {
      if (stopped) return noEvents;
      switch (member(document, 'type')) {
        case 'content_block_delta':
          return blocks.delta(indexOf(document), member(document, 'delta'));
        case 'content_block_start':
          return blocks.open(indexOf(document), member(document, 'content_block'));
        case 'content_block_stop':
          return blocks.close(indexOf(document));
        case 'message_start':
          return start(member(document, 'message'));
        case 'message_delta':
          return change(document);
        case 'message_stop':
          stopped = true;
          return noEvents;
        default:
          return noEvents;
      }
    },
    end: () => [...blocks.rest(), endEvent(stop, blocks)],
    complete: () => stopped || stop.reason !== undefined,
    finished: () => stopped,
  };
}

function indexOf(document: JsonValue): number {
  const index = member(document, 'index');
  return typeof index === 'number' ? index : 0;
}
