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

export class ChunkBuffer {
  #byteLength = 0;
  #list: Uint8Array[] = [];
  /** The index of the first of the small chunks at the end of the list. */
  #smallFrom = 0;

  byteLength(): number {
    return this.#byteLength;
  }

  add(chunk: Uint8Array): void {
    this.#byteLength += chunk.byteLength;
    this.#list.push(chunk);
    if (chunk.byteLength < smallChunkBytes) {
      if (this.#list.length - this.#smallFrom < maxSmallChunks) return;
      const joined = concatUnpooled(this.#list.splice(this.#smallFrom));
      this.#list.push(joined);
      // A result that is still small will be joined again with later chunks.
      if (joined.byteLength < smallChunkBytes) return;
    }
    this.#smallFrom = this.#list.length;
  }

  take(): readonly Uint8Array[] {
    const taken = this.#list;
    // The list is replaced, because listeners for the caller's disconnect hold this buffer until
    // the call ends.
    this.#list = [];
    this.#smallFrom = 0;
    return taken;
  }

  /** Joins the chunks into one, which stays in the buffer. A single chunk is not copied. */
  join(): Uint8Array {
    const all = concat(this.#list);
    this.#list = [all];
    this.#smallFrom = 1;
    return all;
  }

  /** Joins the chunks into one, and clears the buffer for reuse. */
  drain(): Uint8Array {
    this.#byteLength = 0;
    return concat(this.take());
  }
}

function concat(list: readonly Uint8Array[]): Uint8Array {
  const first = list[0];
  return first !== undefined && list.length === 1 ? first : Buffer.concat(list);
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
