/**
 * Collects bytes that arrive in pieces, in at most about twice their memory and 100 KB: as an
 * object of its own a piece of one byte would cost some 400.
 */

/** Larger pieces stay as they came. */
const smallPieceBytes = 4096;
/** So many small ones in a row are copied into one. Fewer cost more to copy than to keep. */
const mostSmallPieces = 256;

/** What came so far. */
export interface Pieces {
  byteLength(): number;
  add(piece: Uint8Array): void;
  /** What came, in pieces, which are forgotten here. */
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
  /** Where the small pieces at the end of the list begin. */
  let smallFrom = 0;

  const take = (): readonly Uint8Array[] => {
    const taken = list;
    // Whoever listens for the caller's going holds us as long as the call runs.
    list = [];
    smallFrom = 0;
    return taken;
  };

  const join = (): Uint8Array => {
    const all = asOne(list);
    list = [all];
    smallFrom = 1;
    return all;
  };

  return {
    byteLength: () => byteLength,
    add: (piece) => {
      byteLength += piece.byteLength;
      list.push(piece);
      if (piece.byteLength < smallPieceBytes) {
        if (list.length - smallFrom < mostSmallPieces) return;
        const joined = inMemoryOfTheirOwn(list.splice(smallFrom));
        list.push(joined);
        // What is small still will be copied again, with those to come.
        if (joined.byteLength < smallPieceBytes) return;
      }
      smallFrom = list.length;
    },
    take,
    join,
    drain: () => {
      byteLength = 0;
      return asOne(take());
    },
  };
}

function asOne(list: readonly Uint8Array[]): Uint8Array {
  const [first, second] = list;
  return first !== undefined && second === undefined ? first : Buffer.concat(list);
}

/** Not in memory that Node cuts up for several buffers, all of which it keeps for one of them. */
function inMemoryOfTheirOwn(list: readonly Uint8Array[]): Uint8Array {
  const all = Buffer.allocUnsafeSlow(list.reduce((sum, { byteLength }) => sum + byteLength, 0));
  let end = 0;
  for (const piece of list) {
    all.set(piece, end);
    end += piece.byteLength;
  }
  return all;
}
