/**
 * Finds the settings of a request that make its media cost more tokens than usual: the frame rate
 * of a video, a higher resolution. A setting whose effect nothing bounds counts too.
 */
import { decodeString } from '../../bytes/decode.ts';
import { type JsonKind, root, type Tape, type Value } from '../../bytes/json/tape.ts';
import { commonWords } from '../../bytes/json/words.ts';
import type { MediaKind, MediaUse } from '../../call.ts';
import type { PromptTally } from './prompt-size.ts';

/** How much each kind of media costs more because of one setting. */
type Factors = Partial<Readonly<Record<MediaKind, number>>>;

/** Factors over Gemini 3's default; older models gain less. A reference may be a video. */
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

/** The part's media are those from `first` on. Called only for parts that have media. */
export function raisePart(tally: PromptTally, part: Value, first: number): void {
  const found: Factors[] = [];
  collectInside(tally.tape, part, { found, depth: 0 });
  raise(tally, found, first);
}

export function raiseAll(tally: PromptTally, request: Value = root): void {
  if (tally.media.length === 0) return;
  const found: Factors[] = [];
  collectGlobal(tally.tape, request, { found, depth: 0 });
  raise(tally, found, 0);
}

interface Search {
  readonly found: Factors[];
  readonly depth: number;
}

function collectGlobal(tape: Tape, object: Value, search: Search): void {
  if (search.depth > maxDepth) return;
  const end = tape.after(object);
  for (let value = tape.firstMember(object); value < end; value = tape.after(value)) {
    const setting = settingOf(tape.name(value));
    if (setting === 'holder') {
      collectGlobal(tape, value, { found: search.found, depth: search.depth + 1 });
    } else {
      add(search.found, factorsOf(tape, setting, value));
    }
  }
}

function collectInside(tape: Tape, object: Value, search: Search): void {
  const end = tape.after(object);
  for (let value = tape.firstMember(object); value < end; value = tape.after(value)) {
    const setting = settingOf(tape.name(value));
    if (setting !== 'data') collect(tape, setting, value, search);
  }
}

function collect(tape: Tape, setting: Setting, value: Value, { found, depth }: Search): void {
  const factors = factorsOf(tape, setting, value);
  add(found, factors);
  if (factors !== undefined || depth === maxDepth) return;
  const inside = { found, depth: depth + 1 };
  if (!tape.isArray(value)) return collectInside(tape, value, inside);
  const end = tape.after(value);
  for (let one = tape.first(value); one < end; one = tape.after(one)) {
    collect(tape, setting, one, inside);
  }
}

function add(found: Factors[], factors: Factors | undefined): void {
  if (factors !== undefined) found.push(factors);
}

function factorsOf(tape: Tape, setting: Setting, value: Value): Factors | undefined {
  if (setting === undefined) return undefined;
  const kind = tape.kind(value);
  if (kind === 'null') return undefined;
  if (setting === 'unbounded') return isOff(tape, value, kind) ? undefined : unbounded;
  if (kind === 'object' || kind === 'array') return undefined;
  if (setting === 'fps') return frameRate(Number(wordOf(tape, value)));
  if (setting === 'detail') {
    return usualDetail.test(wordOf(tape, value)) ? undefined : highestDetail;
  }
  if (setting !== 'resolution') return undefined;
  const level = wordOf(tape, value);
  if (usualResolution.test(level)) return undefined;
  return highResolutionValue.test(level) ? highResolution : highestResolution;
}

/** `false`, and an empty object, list or string, set nothing. A number of two digits does. */
function isOff(tape: Tape, value: Value, kind: JsonKind): boolean {
  const length = tape.end(value) - tape.start(value);
  if (kind === 'boolean') return length === 'false'.length;
  return kind !== 'number' && length === 2;
}

/** Video has one frame a second if no rate is stated. */
function frameRate(rate: number): Factors {
  const factor = Number.isNaN(rate) ? Number.POSITIVE_INFINITY : Math.max(1, rate);
  return { video: factor, reference: factor };
}

function wordOf(tape: Tape, value: Value): string {
  const quotes = tape.isString(value) ? 1 : 0;
  const start = tape.start(value) + quotes;
  const end = tape.end(value) - quotes;
  // No setting is longer.
  return end - start > 64 ? '' : decodeString(tape.bytes, start, end).trim();
}

type Setting = 'unbounded' | 'fps' | 'detail' | 'resolution' | 'holder' | 'data' | undefined;

function settingOf(name: string): Setting {
  return commonWords.has(name) ? known.get(name) : classified(name);
}

function classified(decoded: string): Setting {
  const name = decoded.replace(/([a-z0-9])([A-Z])/g, '$1_$2').toLowerCase();
  if (holders.has(name)) return 'holder';
  if (notSettings.has(name)) return 'data';
  if (unboundedName.test(name)) return 'unbounded';
  if (/(?:^|_)fps$/.test(name)) return 'fps';
  if (name === 'detail') return 'detail';
  return name === 'level' || /(?:^|_)resolution$/.test(name) ? 'resolution' : undefined;
}

const known: ReadonlyMap<string, Setting> = new Map(
  [...commonWords].map((name) => [name, classified(name)]),
);

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
