/** Writes the text around the choice of a chunk, which is the same in every chunk of a stream. */
import { jsonText } from '../../../canonical/raw-json.ts';
import type { ReplyHead } from '../../codec.ts';

/** The text before and after the choice of a chunk. */
export interface ChunkFrame {
  /** The id of the reply. */
  readonly id: string;
  readonly createdSeconds: number;
  readonly open: string;
  readonly close: string;
}

/** Creates the frame for all chunks of one reply. */
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
    // With `include_usage`, every chunk has a `usage` member, as at OpenAI.
    close: head.wantsUsage ? '],"usage":null}\n\n' : ']}\n\n',
  };
}
