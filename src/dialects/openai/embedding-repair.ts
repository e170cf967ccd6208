/**
 * Converts the vectors of a relayed reply into the requested format, if the upstream ignores
 * `encoding_format` or knows only one format. Everything else is passed on byte for byte. Some
 * clients decode numbers that they did not expect as Base64, and store vectors of zeros.
 */

import { asBuffer } from '../../bytes/decode.ts';
import { RangeCapture } from '../../bytes/json/stream/range-capture.ts';
import { jsonTokens } from '../../bytes/json/stream/tokens.ts';
import { openBracket, quote } from '../../bytes/json/text.ts';
import { concatBytes, emptyBytes } from '../../bytes/sse.ts';
import { base64Of, numberList, readVector } from '../../canonical/vectors.ts';

export type EmbeddingFormat = 'float' | 'base64';

export interface EmbeddingRepair {
  /** A vector is held back until it is complete, and nothing of an unusable one is passed on. */
  write(chunk: Uint8Array): Uint8Array;
  /** A vector came in the other format, and was converted into the requested one. */
  hasRepaired(): boolean;
  /** A vector is malformed or, if every vector is checked, has another format than the first. */
  isUnusable(): boolean;
}

/** The names of members are short. */
const nameLimitBytes = 64;
/** The maximum JSON text of one vector: 65,000 numbers with as many digits as servers write. */
const maxVectorText = 2 * 1024 * 1024;
/** Levels in `{"data":[{"embedding":…}]}`. */
const listDepth = 1;
const vectorDepth = 3;

/**
 * Starts the repair of one reply. If its first vector is in the wanted format, the others are not
 * checked, unless `checksEvery` is set: for channels that are known to lack a format.
 */
export function embeddingRepair(wanted: EmbeddingFormat, checksEvery = false): EmbeddingRepair {
  const wantedFirst = wanted === 'base64' ? quote : openBracket;
  const name = new RangeCapture(nameLimitBytes);
  const text = new RangeCapture(maxVectorText);
  let names: { list?: string | undefined; vector?: string | undefined } = {};
  let state: 'looking' | 'fine' | 'checking' | 'repairing' | 'unusable' = 'looking';
  let isInVector = false;
  let out: Uint8Array[] = [];
  /** The offset in the current chunk of the bytes that have not been passed on. */
  let from = 0;
  let current: Uint8Array = new Uint8Array(0);

  const isUnusable = (): boolean => state === 'unusable';

  const tokens = jsonTokens({
    nameBegins: (at, depth) => {
      if (depth === listDepth || depth === vectorDepth) name.begin(at);
    },
    nameEnds: (chunk, end, depth) => {
      if (depth === listDepth) names = { list: name.finishString(chunk, end) };
      if (depth === vectorDepth) names.vector = name.finishString(chunk, end);
    },
    valueBegins: (first, at, depth) => {
      if (depth !== vectorDepth || names.list !== 'data' || names.vector !== 'embedding') return;
      if (isUnusable()) return;
      const isWanted = first === wantedFirst;
      const unchanged = checksEvery ? 'checking' : 'fine';
      if (state === 'looking') state = isWanted ? unchanged : 'repairing';
      const isMixed = checksEvery && isWanted !== (state === 'checking');
      if (!isMixed && (state !== 'repairing' || isWanted)) return;
      out.push(current.subarray(from, at));
      if (isMixed) {
        state = 'unusable';
        return;
      }
      isInVector = true;
      text.begin(at);
    },
    valueEnds: (chunk, end, depth) => {
      if (!isInVector || depth !== vectorDepth) return;
      isInVector = false;
      const repaired = inFormat(text.finish(chunk, end), wanted);
      if (repaired === undefined) state = 'unusable';
      else out.push(Buffer.from(repaired));
      from = end;
    },
  });

  return {
    write: (chunk) => {
      if (state === 'fine') return chunk;
      if (isUnusable()) return emptyBytes;
      current = chunk;
      from = 0;
      out = [];
      const bytes = asBuffer(chunk);
      tokens.write(bytes);
      name.endChunk(bytes);
      text.endChunk(bytes);
      if (!isInVector && !isUnusable()) out.push(chunk.subarray(from));
      return concatBytes(out);
    },
    hasRepaired: () => state === 'repairing',
    isUnusable,
  };
}

const asSent = { keepsText: true, scalesToUnitLength: false };

function inFormat(json: string | undefined, wanted: EmbeddingFormat): string | undefined {
  const vector = json === undefined ? undefined : readVector(json, asSent);
  if (vector === undefined) return undefined;
  return wanted === 'base64' ? `"${base64Of(vector)}"` : numberList(vector);
}
