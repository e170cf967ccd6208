/**
 * Reads one candidate of a whole or streamed reply: its parts, and the metadata that is emitted at
 * the end.
 */
import type { Citation, ContentEvent, TokenLogprob } from '../../../canonical/reply.ts';
import {
  isJsonNumber,
  isJsonObject,
  items,
  type JsonObject,
  type JsonValue,
  member,
  nonEmpty,
} from '../../../json.ts';
import type { CandidateContext } from './calls.ts';
import { type Finish, finishOf, moreSevereFinish } from './finish.ts';
import { PartReader } from './read-part.ts';

export class CandidateReader {
  readonly #context: CandidateContext;
  readonly #parts: PartReader;
  #finishReason: string | undefined;
  #message: string | undefined;
  #grounding: Map<string, JsonValue> | undefined;
  #ratings: readonly JsonObject[] = [];
  readonly #metadata = new Map<string, JsonObject>();

  constructor(context: CandidateContext) {
    this.#context = context;
    this.#parts = new PartReader(context);
  }

  read(candidate: JsonValue): void {
    const { choice, emit } = this.#context;
    for (const part of items(member(member(candidate, 'content'), 'parts'))) this.#parts.read(part);
    const tokens = logprobsIn(member(candidate, 'logprobsResult'));
    if (tokens.length > 0) emit({ type: 'logprobs', choice, tokens });
    this.#readMembers(candidate);
  }

  /** Emits the metadata that was held back, but not the finish. */
  close(): void {
    this.#parts.close();
    this.#emitMetadata();
  }

  finish(blockReason: string | undefined): Finish {
    const parts = this.#parts;
    const finish = finishOf({
      finishReason: this.#finishReason,
      message: this.#message,
      blockReason,
      hasOutput: parts.hasOutput(),
      hasCalls: parts.hasCalls(),
    });
    // Only the token limit may truncate a call. Otherwise an agent would continue without it.
    const isTruncated = parts.hasTruncatedCall() && finish.reason !== 'length';
    return isTruncated ? { ...finish, unusable: 'upstream_unusable_output' } : finish;
  }

  isFinished(): boolean {
    return this.#finishReason !== undefined;
  }

  #readMembers(candidate: JsonValue): void {
    const finish = nonEmpty(member(candidate, 'finishReason'));
    if (finish !== undefined) this.#finishReason = moreSevereFinish(this.#finishReason, finish);
    this.#message = nonEmpty(member(candidate, 'finishMessage')) ?? this.#message;
    const found = member(candidate, 'groundingMetadata');
    if (isJsonObject(found)) {
      this.#grounding ??= new Map();
      for (const [name, value] of Object.entries(found)) this.#grounding.set(name, value);
    }
    for (const [name, eventName] of forwardedMetadata) {
      const value = member(candidate, name);
      if (isJsonObject(value)) this.#metadata.set(eventName, value);
    }
    const rated = blockedRatings(member(candidate, 'safetyRatings'));
    if (rated.length > 0) this.#ratings = rated;
  }

  #emitMetadata(): void {
    const { choice, emit } = this.#context;
    if (this.#grounding !== undefined) {
      const found = Object.fromEntries(this.#grounding);
      const citations = citationsIn(found, this.#parts.visibleText());
      if (citations.length > 0) emit({ type: 'citations', choice, citations });
      emit(providerEvent(choice, 'grounding_metadata', found));
    }
    for (const [name, value] of this.#metadata) emit(providerEvent(choice, name, value));
    if (this.#ratings.length > 0) emit(providerEvent(choice, 'safety_ratings', this.#ratings));
    const others = this.#parts.others();
    if (others.length > 0) emit(providerEvent(choice, 'parts', others));
  }
}

/** Passed on unchanged: Google's name and the event's. In a stream the last value counts. */
const forwardedMetadata = [
  ['citationMetadata', 'citation_metadata'],
  ['urlContextMetadata', 'url_context_metadata'],
] as const;

/** There may be fewer lists of alternatives than chosen tokens, or none. */
function logprobsIn(result: JsonValue | undefined): readonly TokenLogprob[] {
  const tops = items(member(result, 'topCandidates'));
  return items(member(result, 'chosenCandidates')).flatMap((chosen, index) =>
    tokenOf(chosen).map((token) => ({
      ...token,
      top: items(member(tops[index], 'candidates')).flatMap(tokenOf),
    })),
  );
}

function tokenOf(candidate: JsonValue): readonly Omit<TokenLogprob, 'top'>[] {
  const token = member(candidate, 'token');
  const logprob = member(candidate, 'logProbability');
  return typeof token === 'string' && isJsonNumber(logprob) ? [{ token, logprob }] : [];
}

function blockedRatings(ratings: JsonValue | undefined): readonly JsonObject[] {
  const all = items(ratings).filter(isJsonObject);
  return all.some((rating) => member(rating, 'blocked') === true) ? all : [];
}

function providerEvent(
  choice: number,
  name: string,
  value: JsonObject | readonly JsonObject[],
): ContentEvent {
  return { type: 'provider_specific', choice, provider: 'gemini', name, value };
}

/** Each may need a search of the whole text. No real reply has as many. */
const maxSupports = 2_000;

/** Google counts offsets in bytes of UTF-8; the common form counts UTF-16 units. */
function citationsIn(grounding: JsonObject, text: string): readonly Citation[] {
  const sources = items(member(grounding, 'groundingChunks')).map(sourceOf);
  const supports = items(member(grounding, 'groundingSupports')).slice(0, maxSupports);
  if (supports.length === 0) {
    return sources.flatMap((source) => cited(source, { start: undefined, end: undefined }));
  }
  const units = unitsByByte(text);
  return supports.flatMap((support) => {
    const offsets = locate(member(support, 'segment'), text, units);
    return items(member(support, 'groundingChunkIndices')).flatMap((index) =>
      cited(typeof index === 'number' ? sources[index] : undefined, offsets),
    );
  });
}

interface Source {
  readonly url: string;
  readonly title: string | undefined;
}

type Offsets = Pick<Citation, 'start' | 'end'>;

function sourceOf(chunk: JsonValue): Source | undefined {
  const holder =
    member(chunk, 'web') ?? member(chunk, 'retrievedContext') ?? member(chunk, 'maps') ?? null;
  const url = member(holder, 'uri');
  const title = member(holder, 'title');
  if (typeof url !== 'string' || url === '') return undefined;
  return { url, title: typeof title === 'string' ? title : undefined };
}

function cited(source: Source | undefined, offsets: Offsets): readonly Citation[] {
  return source === undefined ? [] : [{ ...source, ...offsets }];
}

/** Maps each byte offset of the text to its UTF-16 unit; the last entry is the end. */
function unitsByByte(text: string): Uint32Array {
  const units = new Uint32Array(Buffer.byteLength(text) + 1);
  let byte = 0;
  let unit = 0;
  for (const character of text) {
    const width = Buffer.byteLength(character);
    units.fill(unit, byte, byte + width);
    byte += width;
    unit += character.length;
  }
  units[byte] = unit;
  return units;
}

/** Offsets are relative to one part; with several parts, the cited text is searched. */
function locate(segment: JsonValue | undefined, text: string, units: Uint32Array): Offsets {
  const start = units[offset(member(segment, 'startIndex'))];
  const end = units[offset(member(segment, 'endIndex'))];
  const citedText = member(segment, 'text');
  if (typeof citedText !== 'string' || citedText === '' || text.slice(start, end) === citedText) {
    return start !== undefined && end !== undefined && start < end
      ? { start, end }
      : { start: undefined, end: undefined };
  }
  const found = text.indexOf(citedText);
  return found === -1
    ? { start: undefined, end: undefined }
    : { start: found, end: found + citedText.length };
}

/** Google leaves out the offset 0. */
function offset(value: JsonValue | undefined): number {
  return typeof value === 'number' ? value : 0;
}
