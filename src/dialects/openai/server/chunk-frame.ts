/** The text around the choice of a chunk, the same in every chunk of a stream (WIRE §2.3). */
import { jsonText } from '../../../canonical/raw-json.ts';
import type { ReplyHead } from '../../codec.ts';

/** What stands around the choice in every chunk. */
export interface ChunkFrame {
  /** The id of the reply. */
  readonly id: string;
  readonly createdSeconds: number;
  readonly open: string;
  readonly close: string;
}

/** The frame of all chunks of one reply. */
export function chunkFrame(id: string, head: ReplyHead): ChunkFrame {
  const constant = jsonText({
    id,
    object: 'chat.completion.chunk',
    created: head.createdSeconds,
    model: head.modelId,
  });
  return {
    id,
    createdSeconds: head.createdSeconds,
    open: `data: ${constant.slice(0, -1)},"choices":[`,
    // Who asked for the figures gets the member in every chunk, as OpenAI does it.
    close: head.wantsUsage ? '],"usage":null}\n\n' : ']}\n\n',
  };
}
