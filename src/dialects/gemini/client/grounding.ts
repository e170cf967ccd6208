/**
 * Reads the citations of a grounded reply. Google counts offsets in bytes of UTF-8; the common form
 * counts UTF-16 units.
 */
import type { Citation } from '../../../canonical/reply.ts';
import { items, type JsonObject, type JsonValue, member } from '../../../json.ts';

/**
 * Limits the work, since each one may need a search of the whole text. No real reply has as many.
 */
const maxSupports = 2_000;

/** The citations of a `groundingMetadata` object for a candidate's complete visible text. */
export function citationsIn(grounding: JsonObject, text: string): readonly Citation[] {
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

/**
 * Google's offsets are relative to one part. If a reply has several parts, the cited text locates
 * the segment.
 */
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
