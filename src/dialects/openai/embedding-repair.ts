/**
 * Converts the vectors of a relayed reply into the requested format, if the upstream ignores
 * `encoding_format` or knows only one format. Everything else is passed on byte for byte. Some
 * clients decode numbers that they did not expect as Base64, and store vectors of zeros.
 */

import { parseBounded } from '../../bounded-json.ts';
import { asBuffer } from '../../bytes/decode.ts';
import { type JsonListener, jsonTokens, RangeCapture } from '../../bytes/json/stream/tokens.ts';
import { openBracket, quote } from '../../bytes/json/text.ts';
import { concatBytes, emptyBytes } from '../../bytes/sse.ts';
import { base64Of, numberList, readVector } from '../../canonical/vectors.ts';

/** The formats of `encoding_format`. */
export type EmbeddingFormat = 'float' | 'base64';

/** The repair of one reply. */
export interface EmbeddingRepair {
  /**
   * The bytes to pass on. A vector is held back until it is complete. Nothing is passed on from a
   * vector that makes the reply unusable.
   */
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
  const vectors = new RepairedVectors(wanted, checksEvery, () => tokens.stop());
  const tokens = jsonTokens(vectors);
  return {
    write: (chunk) => {
      if (vectors.state === 'fine') return chunk;
      if (vectors.state === 'unusable') return emptyBytes;
      vectors.beginChunk(chunk);
      const bytes = asBuffer(chunk);
      tokens.write(bytes);
      return vectors.endChunk(bytes);
    },
    hasRepaired: () => vectors.state === 'repairing',
    isUnusable: () => vectors.state === 'unusable',
  };
}

/** Finds the vectors, and converts those in another format. */
class RepairedVectors implements JsonListener {
  state: 'looking' | 'fine' | 'checking' | 'repairing' | 'unusable' = 'looking';
  readonly #wanted: EmbeddingFormat;
  readonly #checksEvery: boolean;
  readonly #stop: () => void;
  readonly #name = new RangeCapture(nameLimitBytes);
  readonly #text = new RangeCapture(maxVectorText);
  #names: { list?: string | undefined; vector?: string | undefined } = {};
  #isInVector = false;
  #out: Uint8Array[] = [];
  /** The offset in the current chunk of the bytes that have not been passed on. */
  #from = 0;
  #current: Uint8Array = emptyBytes;

  /** @param stop called once nothing of the reply matters any more */
  constructor(wanted: EmbeddingFormat, checksEvery: boolean, stop: () => void) {
    this.#wanted = wanted;
    this.#checksEvery = checksEvery;
    this.#stop = stop;
  }

  beginChunk(chunk: Uint8Array): void {
    this.#current = chunk;
    this.#from = 0;
    this.#out = [];
  }

  /** The bytes to pass on for the chunk. */
  endChunk(bytes: Buffer): Uint8Array {
    this.#name.endChunk(bytes);
    this.#text.endChunk(bytes);
    if (!this.#isInVector && this.state !== 'unusable') {
      this.#out.push(this.#current.subarray(this.#from));
    }
    return concatBytes(this.#out);
  }

  nameBegins(at: number, depth: number): void {
    if (depth === listDepth || depth === vectorDepth) this.#name.begin(at);
  }

  nameEnds(chunk: Buffer, end: number, depth: number): void {
    if (depth === listDepth) this.#names = { list: stringIn(this.#name.finish(chunk, end)) };
    if (depth === vectorDepth) this.#names.vector = stringIn(this.#name.finish(chunk, end));
  }

  valueBegins(first: number, at: number, depth: number): void {
    const { list, vector } = this.#names;
    if (depth !== vectorDepth || list !== 'data' || vector !== 'embedding') return;
    if (this.state === 'unusable') return;
    const isWanted = first === (this.#wanted === 'base64' ? quote : openBracket);
    const unchanged = this.#checksEvery ? 'checking' : 'fine';
    if (this.state === 'looking') this.state = isWanted ? unchanged : 'repairing';
    if (this.state === 'fine') return this.#stop();
    const isMixed = this.#checksEvery && isWanted !== (this.state === 'checking');
    if (!isMixed && (this.state !== 'repairing' || isWanted)) return;
    this.#out.push(this.#current.subarray(this.#from, at));
    if (isMixed) {
      this.state = 'unusable';
      return;
    }
    this.#isInVector = true;
    this.#text.begin(at);
  }

  valueEnds(chunk: Buffer, end: number, depth: number): void {
    if (!this.#isInVector || depth !== vectorDepth) return;
    this.#isInVector = false;
    const repaired = inFormat(this.#text.finish(chunk, end), this.#wanted);
    if (repaired === undefined) this.state = 'unusable';
    else this.#out.push(Buffer.from(repaired));
    this.#from = end;
  }
}

const asSent = { keepsText: true, scalesToUnitLength: false };

function inFormat(json: string | undefined, wanted: EmbeddingFormat): string | undefined {
  const vector = json === undefined ? undefined : readVector(json, asSent);
  if (vector === undefined) return undefined;
  return wanted === 'base64' ? `"${base64Of(vector)}"` : numberList(vector);
}

function stringIn(text: string | undefined): string | undefined {
  const value = text === undefined ? undefined : parseBounded(text);
  return typeof value === 'string' ? value : undefined;
}
