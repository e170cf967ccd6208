/**
 * Buffers bytes that arrive in chunks. Takes at most about twice their size plus 100 KB of memory:
 * kept separately, a chunk of one byte would take about 400 bytes.
 */

const smallChunkBytes = 4096;
/**
 * This many consecutive small chunks are joined into one. Joining fewer would cost more than
 * keeping them.
 */
const maxSmallChunks = 256;

export interface ChunkBuffer {
  byteLength(): number;
  add(chunk: Uint8Array): void;
  take(): readonly Uint8Array[];
  /** Joins the chunks into one, which stays in the buffer. A single chunk is not copied. */
  join(): Uint8Array;
  /** Joins the chunks into one, and clears the buffer for reuse. */
  drain(): Uint8Array;
}

export function chunkBuffer(): ChunkBuffer {
  let list: Uint8Array[] = [];
  let byteLength = 0;
  /** The index of the first of the small chunks at the end of the list. */
  let smallFrom = 0;

  const take = (): readonly Uint8Array[] => {
    const taken = list;
    // The list is replaced, because listeners for the caller's disconnect hold this buffer until
    // the call ends.
    list = [];
    smallFrom = 0;
    return taken;
  };

  const join = (): Uint8Array => {
    const all = concat(list);
    list = [all];
    smallFrom = 1;
    return all;
  };

  return {
    byteLength: () => byteLength,
    add: (chunk) => {
      byteLength += chunk.byteLength;
      list.push(chunk);
      if (chunk.byteLength < smallChunkBytes) {
        if (list.length - smallFrom < maxSmallChunks) return;
        const joined = concatUnpooled(list.splice(smallFrom));
        list.push(joined);
        // A result that is still small will be joined again with later chunks.
        if (joined.byteLength < smallChunkBytes) return;
      }
      smallFrom = list.length;
    },
    take,
    join,
    drain: () => {
      byteLength = 0;
      return concat(take());
    },
  };
}

function concat(list: readonly Uint8Array[]): Uint8Array {
  const [first, second] = list;
  return first !== undefined && second === undefined ? first : Buffer.concat(list);
}

/** Not allocated from Node's shared pool, which would stay in memory as long as any slice of it. */
function concatUnpooled(list: readonly Uint8Array[]): Uint8Array {
  const all = Buffer.allocUnsafeSlow(list.reduce((sum, { byteLength }) => sum + byteLength, 0));
  let end = 0;
  for (const chunk of list) {
    all.set(chunk, end);
    end += chunk.byteLength;
  }
  return all;
}
