/**
 * Writes a chat stream from its events. The constant text of a chunk is made once, so that a delta
 * costs one `JSON.stringify` of its string.
 */
import { jsonText } from '../../../canonical/raw-json.ts';
import { type ContentEvent, type ReplyUsage, zeroUsage } from '../../../canonical/reply.ts';
import type { ContentStreamWriter, ReplyHead } from '../../codec.ts';
import { openaiErrorText } from '../errors.ts';
import { ChoiceBuilder } from './choice-builder.ts';
import { type ChunkFrame, ChunkSink, chunkFrame } from './choice-sink.ts';
import { replyId, usagePiece } from './usage.ts';

interface Choice {
  readonly builder: ChoiceBuilder;
  readonly sink: ChunkSink;
}

interface StreamState {
  readonly head: ReplyHead;
  readonly choices: Map<number, Choice>;
  frame: ChunkFrame | undefined;
  upstreamId: string | undefined;
  usage: ReplyUsage | undefined;
}

export function writeStream(head: ReplyHead): ContentStreamWriter {
  const stream: StreamState = {
    head,
    choices: new Map(),
    frame: undefined,
    upstreamId: undefined,
    usage: undefined,
  };
  return {
    write: (events) => {
      let text = '';
      for (const event of events) text += writeEvent(stream, event);
      return text;
    },
    end: () => {
      const { choices } = stream;
      if (choices.size === 0) choiceOf(stream, 0);
      let ends = '';
      for (const index of [...choices.keys()].sort((one, other) => one - other)) {
        const { builder, sink } = choiceOf(stream, index);
        builder.end();
        ends += sink.take();
      }
      return `${ends}${usageChunk(stream)}data: [DONE]\n\n`;
    },
    breakOff: (error) => [`data: ${openaiErrorText(error)}\n\n`],
  };
}

function writeEvent(stream: StreamState, event: ContentEvent): string {
  switch (event.type) {
    case 'start':
      stream.upstreamId ??= event.id;
      return '';
    case 'usage':
      stream.usage = event.usage;
      return '';
    case 'unusable':
      return '';
    case 'blocked': {
      stream.usage ??= zeroUsage;
      const { builder, sink } = choiceOf(stream, 0);
      builder.block(event);
      return sink.take();
    }
    default: {
      const { builder, sink } = choiceOf(stream, event.choice);
      builder.add(event);
      return sink.take();
    }
  }
}

function choiceOf(stream: StreamState, index: number): Choice {
  const known = stream.choices.get(index);
  if (known !== undefined) return known;
  const sink = new ChunkSink(index, frameOf(stream));
  const made = { builder: new ChoiceBuilder(index, sink), sink };
  stream.choices.set(index, made);
  return made;
}

/** Created with the first chunk, because the upstream may send its id until then. */
function frameOf(stream: StreamState): ChunkFrame {
  const { head, upstreamId } = stream;
  stream.frame ??= chunkFrame(replyId(upstreamId, head.fallbackId), head);
  return stream.frame;
}

function usageChunk(stream: StreamState): string {
  const { head, usage } = stream;
  if (!head.wantsUsage || usage === undefined) return '';
  return `${frameOf(stream).open}],"usage":${jsonText(usagePiece(usage))}}\n\n`;
}
