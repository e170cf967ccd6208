/**
 * Finds the settings of a request that make its media cost more tokens than usual: the frame rate
 * of a video, a higher resolution. A setting whose effect nothing bounds counts too.
 */
import { decodeString } from '../bytes/decode.ts';
import { type JsonKind, kindAt, membersOf } from '../bytes/json/read/members.ts';
import { skipValue } from '../bytes/json/read/skip.ts';
import type { Member, Span } from '../bytes/json/scan/scan.ts';
import { openBracket } from '../bytes/json/text.ts';
import type { MediaKind, MediaUse } from '../call.ts';
import { eachElement, type PromptTally } from './prompt-size.ts';

/** How much each kind of media costs more because of one setting. */
type Factors = Partial<Readonly<Record<MediaKind, number>>>;

/**
 * Factors over what Gemini 3 uses if no resolution is stated. Older models gain less. A reference
 * may be a video.
 */
const highResolution: Factors = { video: 4, document: 2, reference: 4 };
const highestResolution: Factors = { image: 2, video: 8, document: 4, reference: 8 };
/** OpenAI's `original` has four times the patches of `high`, which is what `auto` may choose. */
const highestDetail: Factors = { image: 4, document: 4, reference: 4 };
const unbounded: Factors = {
  image: Number.POSITIVE_INFINITY,
  audio: Number.POSITIVE_INFINITY,
  video: Number.POSITIVE_INFINITY,
  document: Number.POSITIVE_INFINITY,
  reference: Number.POSITIVE_INFINITY,
};

/** Settings of servers such as vLLM and DashScope, and Google's count of tokens. */
const unboundedName = /(?:^|_)(?:pixels|frames|num_tokens|kwargs|high_resolution_images)$/;
const usualDetail = /^(?:low|high|auto)$/i;
/** Names, and the numbers that protobuf has for them. */
const usualResolution = /^(?:(?:media_resolution_)?(?:unspecified|low|medium)|[012])$/i;
const highResolutionValue = /^(?:(?:media_resolution_)?high|3)$/i;

/** Members with the caller's own data, and parts that are measured separately. */
const notSettings: ReadonlySet<string> = new Set(['args', 'response', 'parts', 'metadata']);
/** Members of a body that contain settings of all its media. */
const holders: ReadonlySet<string> = new Set(['extra_body', 'google', 'generation_config']);
/** `generation_config` in `google` in two levels of `extra_body`. */
const maxDepth = 5;

/**
 * Applies the settings in a part to its media, which are those of the tally from `first` on. Called
 * only for parts that have media.
 */
export function raisePart(tally: PromptTally, part: Span, first: number): void {
  const { text } = tally.body;
  const found: Factors[] = [];
  for (const member of membersOf(text, part)) collect(text, member, { found, depth: 0 });
  raise(tally, found, first);
}

/** Applies the settings of the whole request to all its media. */
export function raiseAll(tally: PromptTally, members: readonly Member[]): void {
  if (tally.media.length === 0) return;
  const found: Factors[] = [];
  collectGlobal(tally.body.text, members, { found, depth: 0 });
  raise(tally, found, 0);
}

interface Search {
  readonly found: Factors[];
  readonly depth: number;
}

function collectGlobal(text: Buffer, members: readonly Member[], search: Search): void {
  if (search.depth > maxDepth) return;
  for (const { name, value } of members) {
    const plain = snakeCased(name);
    if (holders.has(plain)) {
      const inside = { found: search.found, depth: search.depth + 1 };
      collectGlobal(text, membersOf(text, value), inside);
    } else {
      add(search.found, factorsOf(text, plain, value));
    }
  }
}

/** Collects the factors of a member, and of the objects and lists in it. */
function collect(text: Buffer, { name, value }: Member, { found, depth }: Search): void {
  const plain = snakeCased(name);
  if (notSettings.has(plain)) return;
  const factors = factorsOf(text, plain, value);
  add(found, factors);
  if (factors !== undefined || depth === maxDepth) return;
  const inside = { found, depth: depth + 1 };
  if (text[value.start] === openBracket) {
    eachElement(text, value.start, (start) => {
      const end = skipValue(text, start);
      collect(text, { name, nameSpan: value, value: { start, end } }, inside);
      return end;
    });
  } else {
    for (const inner of membersOf(text, value)) collect(text, inner, inside);
  }
}

function add(found: Factors[], factors: Factors | undefined): void {
  if (factors !== undefined) found.push(factors);
}

/** The factors of a setting; undefined for a member that is not a setting itself. */
function factorsOf(text: Buffer, name: string, value: Span): Factors | undefined {
  const kind = kindAt(text, value);
  if (kind === 'null') return undefined;
  if (unboundedName.test(name)) return isOff(text, value, kind) ? undefined : unbounded;
  if (kind === 'object' || kind === 'array') return undefined;
  if (/(?:^|_)fps$/.test(name)) return frameRate(Number(wordOf(text, value)));
  if (name === 'detail') {
    return usualDetail.test(wordOf(text, value)) ? undefined : highestDetail;
  }
  if (name !== 'level' && !/(?:^|_)resolution$/.test(name)) return undefined;
  const level = wordOf(text, value);
  if (usualResolution.test(level)) return undefined;
  return highResolutionValue.test(level) ? highResolution : highestResolution;
}

/** `false`, and an empty object, list or string, set nothing. A number of two digits does. */
function isOff(text: Buffer, value: Span, kind: JsonKind): boolean {
  if (kind === 'boolean') return decodeString(text, value.start, value.end) === 'false';
  return kind !== 'number' && value.end - value.start === 2;
}

/** Video has one frame a second if no rate is stated. */
function frameRate(rate: number): Factors {
  const factor = Number.isNaN(rate) ? Number.POSITIVE_INFINITY : Math.max(1, rate);
  return { video: factor, reference: factor };
}

/** A number or word, without its quotes. */
function wordOf(text: Buffer, value: Span): string {
  const isQuoted = kindAt(text, value) === 'string';
  const start = isQuoted ? value.start + 1 : value.start;
  const end = isQuoted ? value.end - 1 : value.end;
  // No setting is longer.
  return end - start > 64 ? '' : decodeString(text, start, end).trim();
}

function snakeCased(name: string): string {
  return name.replace(/([a-z0-9])([A-Z])/g, '$1_$2').toLowerCase();
}

/** Settings of one kind in several spellings are rare; their product is a bound in any case. */
function raise({ media }: PromptTally, found: readonly Factors[], first: number): void {
  if (found.length === 0) return;
  for (let index = first; index < media.length; index += 1) {
    const use = media[index];
    if (use !== undefined) media[index] = raised(use, found);
  }
}

function raised(use: MediaUse, found: readonly Factors[]): MediaUse {
  let factor = use.raisedBy ?? 1;
  for (const factors of found) factor *= factors[use.kind] ?? 1;
  return factor === 1 ? use : { ...use, raisedBy: factor };
}
