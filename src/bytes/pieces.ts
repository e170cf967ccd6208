/**
 * Collects bytes that arrive in pieces, in at most about twice their memory: as an object of its
 * own a piece of one byte would cost some 400.
 */

/** Smaller pieces are copied together: as an object each they would cost more than they hold. */
const smallPieceBytes = 4096;
const sharedBytes = 16_384;

const noRoom = Buffer.alloc(0);

/** What came so far. */
export interface Pieces {
  readonly byteLength: number;
  add(piece: Uint8Array): void;
  /** What came, in pieces of more than a few bytes, which are forgotten here. */
  take(): readonly Uint8Array[];
  /** All of it as one, which takes the pieces' place; a body that came in one is not copied. */
  join(): Uint8Array;
  /** All of it as one, which is forgotten here: the next piece is the first again. */
  drain(): Uint8Array;
}

/** Empty at first. */
export function pieces(): Pieces {
  let list: Uint8Array[] = [];
  let byteLength = 0;
  let shared: Buffer = noRoom;
  // The run of small pieces in `shared` that is not in the list yet: where it begins and ends.
  let runStart = 0;
  let runEnd = 0;

  function closeRun(): void {
    if (runEnd > runStart) list.push(shared.subarray(runStart, runEnd));
    runStart = runEnd;
  }

  function addSmall(piece: Uint8Array): void {
    if (runEnd + piece.byteLength > shared.byteLength) {
      closeRun();
      shared = Buffer.allocUnsafeSlow(sharedBytes);
      runStart = 0;
      runEnd = 0;
    }
    shared.set(piece, runEnd);
    runEnd += piece.byteLength;
  }

  return {
    get byteLength() {
      return byteLength;
    },
    add(piece) {
      const isFirst = byteLength === 0;
      byteLength += piece.byteLength;
      if (!isFirst && piece.byteLength < smallPieceBytes) {
        addSmall(piece);
        return;
      }
      closeRun();
      list.push(piece);
    },
    take() {
      closeRun();
      const taken = list;
      // Whoever listens for the caller's going holds us as long as the call runs.
      list = [];
      return taken;
    },
    join() {
      closeRun();
      const all = asOne(list);
      list = [all];
      return all;
    },
    drain() {
      closeRun();
      const all = asOne(list);
      list = [];
      byteLength = 0;
      return all;
    },
  };
}

function asOne(list: readonly Uint8Array[]): Uint8Array {
  const [first, second] = list;
  return first !== undefined && second === undefined ? first : Buffer.concat(list);
}
