/**
 * Reads where a grounded answer found what it says. Google counts in bytes of UTF-8, the common
 * form in UTF-16 units (TRANSLATION §5.1).
 */
import type { Citation } from '../../../canonical/reply.ts';
import { items, type JsonObject, type JsonValue, member } from '../../../json.ts';

/** Each may be searched for in the whole text; no answer is cited as often. */
const maxSupports = 2_000;

/** The citations of a `groundingMetadata` object over a candidate's whole visible text. */
export function citationsIn(grounding: JsonObject, text: string): readonly Citation[] {
  const sources = items(member(grounding, 'groundingChunks')).map(sourceOf);
  const supports = items(member(grounding, 'groundingSupports')).slice(0, maxSupports);
  if (supports.length === 0) {
    return sources.flatMap((source) => cited(source, { start: undefined, end: undefined }));
  }
  const units = unitsByByte(text);
  return supports.flatMap((support) => {
    const place = placeOf(member(support, 'segment'), text, units);
    return items(member(support, 'groundingChunkIndices')).flatMap((index) =>
      cited(typeof index === 'number' ? sources[index] : undefined, place),
    );
  });
}

interface Source {
  readonly url: string;
  readonly title: string | undefined;
}

type Place = Pick<Citation, 'start' | 'end'>;

function sourceOf(chunk: JsonValue): Source | undefined {
  const holder =
    member(chunk, 'web') ?? member(chunk, 'retrievedContext') ?? member(chunk, 'maps') ?? null;
  const url = member(holder, 'uri');
  const title = member(holder, 'title');
  if (typeof url !== 'string' || url === '') return undefined;
  return { url, title: typeof title === 'string' ? title : undefined };
}

function cited(source: Source | undefined, place: Place): readonly Citation[] {
  return source === undefined ? [] : [{ ...source, ...place }];
}

/** For each byte of the text the UTF-16 unit it belongs to, and one more for the end. */
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

/**
 * Google counts within one part; where the answer has several, the cited words tell the place.
 */
function placeOf(segment: JsonValue | undefined, text: string, units: Uint32Array): Place {
  const start = units[offset(member(segment, 'startIndex'))];
  const end = units[offset(member(segment, 'endIndex'))];
  const words = member(segment, 'text');
  if (typeof words !== 'string' || words === '' || text.slice(start, end) === words) {
    return start !== undefined && end !== undefined && start < end
      ? { start, end }
      : { start: undefined, end: undefined };
  }
  const found = text.indexOf(words);
  return found === -1
    ? { start: undefined, end: undefined }
    : { start: found, end: found + words.length };
}

/** Google leaves a 0 out. */
function offset(value: JsonValue | undefined): number {
  return typeof value === 'number' ? value : 0;
}
