/**
 * A minimal incremental reader of HTTP/1.1 messages, for upstream and load generator: heads, and
 * bodies by content-length or in chunks. It trusts its peer and is cheap.
 */

/**
 * Reads one message after another from the chunks of a connection.
 *
 * @param on `onHead(text)`: first line and headers; `onData(bytes)`: a chunk of the body, valid
 *   only during the call; `onEnd()`: the message is complete
 * @returns `feed(piece)`, and `finish()` for the end of the connection: true if that completed a
 *   message, or no message had begun
 */
export function messageReader({ onHead, onData, onEnd }) {
  let stage = readHead;
  let held;
  let left = 0;

  function readHead(piece, at) {
    const end = piece.indexOf('\r\n\r\n', at);
    if (end < 0) return -1;
    const text = piece.latin1Slice(at, end);
    onHead(text);
    const length = /\r\ncontent-length: *(\d+)/i.exec(text)?.[1];
    left = Number(length ?? 0);
    if (length === undefined && /\r\ntransfer-encoding: *chunked/i.test(text)) stage = readSize;
    else if (left > 0) stage = readLength;
    else if (length === undefined && text.startsWith('HTTP/')) stage = readToClose;
    else finished();
    return end + 4;
  }

  function readLength(piece, at) {
    const next = take(piece, at);
    if (left === 0) finished();
    return next;
  }

  function readSize(piece, at) {
    const end = piece.indexOf(10, at);
    if (end < 0) return -1;
    left = Number.parseInt(piece.latin1Slice(at, end), 16);
    stage = left === 0 ? readTrailer : readChunk;
    return end + 1;
  }

  function readChunk(piece, at) {
    const next = take(piece, at);
    if (left === 0) stage = readChunkEnd;
    return next;
  }

  function readChunkEnd(piece, at) {
    if (piece.length - at < 2) return -1;
    stage = readSize;
    return at + 2;
  }

  function readTrailer(piece, at) {
    const end = piece.indexOf(10, at);
    if (end < 0) return -1;
    if (end - at <= 1) finished();
    return end + 1;
  }

  function readToClose(piece, at) {
    onData(piece.subarray(at));
    return piece.length;
  }

  function take(piece, at) {
    const next = Math.min(piece.length, at + left);
    left -= next - at;
    onData(piece.subarray(at, next));
    return next;
  }

  function finished() {
    stage = readHead;
    onEnd();
  }

  return {
    feed(fresh) {
      const piece = held === undefined ? fresh : Buffer.concat([held, fresh]);
      held = undefined;
      for (let at = 0; at < piece.length; ) {
        const next = stage(piece, at);
        if (next < 0) {
          // A copy, because the connection reads into the same buffer again.
          held = Buffer.from(piece.subarray(at));
          return;
        }
        at = next;
      }
    },
    finish() {
      if (stage === readToClose) finished();
      return stage === readHead && held === undefined;
    },
  };
}
