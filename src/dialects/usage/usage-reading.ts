/** Converts the counts of usage objects into the usage of a reply. */
import type { ReplyUsage, UsageGap } from '../../canonical/reply.ts';
import { maxCount, type UsageCounts } from './usage-counts.ts';
import type { CountName } from './usage-table.ts';

/** A set of the parts that may lie inside the stated input or output, or beside it. */
type Parts = number;
const bits = { cached: 1, written: 2, toolPrompt: 4, reasoning: 8 } as const;
const partNames = ['cached', 'written', 'toolPrompt', 'reasoning'] as const;
const inputParts: Parts = bits.cached | bits.written | bits.toolPrompt;
const { cached: cachedBit, written: writtenBit, reasoning: reasoningBit } = bits;
/** The parts, one or several, that a stated total may show on the other side. */
const movable: readonly Parts[] = [
  reasoningBit,
  cachedBit,
  cachedBit | writtenBit,
  writtenBit,
  reasoningBit | cachedBit,
  reasoningBit | cachedBit | writtenBit,
];

/** Whether the counts state anything that the usage of a reply needs. */
export function hasTotals(counts: UsageCounts): boolean {
  const { input, output, total, uncached, toolPrompt, reasoning } = counts;
  return (input ?? output ?? total ?? uncached ?? toolPrompt ?? reasoning) !== undefined;
}

export function gapIn(counts: UsageCounts): UsageGap {
  if (counts.output !== undefined) return undefined;
  return statedInput(counts) !== undefined || totalOf(counts) === 0 ? 'output' : 'split';
}

/** The output is the total minus the input, which may be known from an earlier object. */
export function withImpliedOutput(
  known: UsageCounts | undefined,
  counts: UsageCounts,
): UsageCounts {
  if (counts.output !== undefined) return counts;
  const total = totalOf(counts);
  if (total === 0) return counts;
  const holder = statedInput(counts) === undefined && known !== undefined ? known : counts;
  const input = statedInput(holder);
  if (input === undefined) return counts;
  const beside = sumOf(holder, partsBeside(holder) & inputParts);
  const output = total - input - beside - sumOf(counts, partsBeside(counts) & reasoningBit);
  return output < 0 ? counts : { ...counts, output };
}

/** An implausibly large total says nothing about its parts. */
function totalOf({ total = 0 }: UsageCounts): number {
  return total < maxCount ? total : 0;
}

/** The input without the parts beside it; undefined if it isn't stated. */
function statedInput({ input, uncached, cached = 0, toolPrompt }: UsageCounts): number | undefined {
  if (uncached !== undefined) return Math.max(input ?? 0, uncached + cached);
  return input ?? (toolPrompt === undefined ? undefined : 0);
}

/** The tokens written to a cache: of the total and the sum of its parts, the larger. */
export function writtenIn({ written, written5m, written1h }: UsageCounts): number | undefined {
  if (written5m === undefined && written1h === undefined) return written;
  return Math.max(written ?? 0, (written5m ?? 0) + (written1h ?? 0));
}

/** The writes lie where their parts do. */
function withWrites(counts: UsageCounts, written: number | undefined): UsageCounts {
  const { written5m, written1h = written5m } = counts.places;
  const places = written1h === undefined ? counts.places : { ...counts.places, written: written1h };
  return { ...counts, written, places };
}

function partsBeside({ places }: UsageCounts): Parts {
  let parts = 0;
  for (const name of partNames) if (places[name] === 'beside') parts |= bits[name];
  return parts;
}

function sumOf(counts: UsageCounts, parts: Parts): number {
  if (parts === 0) return 0;
  let sum = 0;
  for (const name of partNames) if ((parts & bits[name]) !== 0) sum += counts[name] ?? 0;
  return sum;
}

/** The input and the output, with the parts beside them. */
interface Sums {
  readonly input: number;
  readonly output: number;
  readonly reasoning: number | undefined;
  /** The stated total is another than their sum. */
  readonly isOff: boolean;
}

/**
 * The usage of a reply.
 *
 * @param stated the counts of all usage objects so far
 * @param last those of the last object: only a total in it is the sum of the counts
 * @param excessIsReasoning the vendor states its reasoning only as a part of the total
 */
export function replyUsageOf(
  stated: UsageCounts,
  last: UsageCounts,
  excessIsReasoning: boolean,
): ReplyUsage {
  const written = writtenIn(stated);
  const counts = written === stated.written ? stated : withWrites(stated, written);
  const ownInput = statedInput(counts);
  const sums = sumsOf(counts, ownInput, last.total !== undefined, excessIsReasoning);
  const { cached, searches, remarks } = counts;
  const input = Math.max(sums.input, cached ?? 0);
  const reasoning = sums.reasoning ?? 0;
  const output = Math.max(sums.output, reasoning);
  const { inside, isAbove } = partsInside(counts, input, output);
  const isOff =
    sums.isOff ||
    isAbove ||
    (counts.output !== undefined && reasoning > sums.output) ||
    (ownInput !== undefined && (cached ?? 0) > sums.input);
  return {
    inputTokens: input,
    outputTokens: output,
    cachedInputTokens: cached,
    cacheWriteTokens: inside.written,
    cacheWrite1hTokens: inside.written1h || undefined,
    reasoningTokens: sums.reasoning,
    audioInputTokens: inside.audioInput,
    imageInputTokens: inside.imageInput,
    videoInputTokens: inside.videoInput,
    audioOutputTokens: inside.audioOutput,
    imageOutputTokens: inside.imageOutput,
    ...cachedMediaIn(counts),
    gap: gapIn(counts),
    toolCalls: searches === undefined ? undefined : { web_search: searches },
    remarks: isOff ? { ...remarks, isInconsistent: true } : remarks,
  };
}

/** Adds the parts beside the input and the output, so that the sum is the total if it can be. */
function sumsOf(
  counts: UsageCounts,
  input: number | undefined,
  isTotalOfAll: boolean,
  excessIsReasoning: boolean,
): Sums {
  const total = totalOf(counts);
  const { output, reasoning, places } = counts;
  if (output === undefined || input === undefined) return partialSums(counts, input, total);
  const isAdded = places.reasoning === 'inside_if_room' && (reasoning ?? 0) > output;
  const usual = partsBeside(counts) | (isAdded ? reasoningBit : 0);
  const own = input + output;
  const isChecked = isTotalOfAll && total > 0;
  if (usual === 0 && (!isChecked || own === total)) {
    return { input, output, reasoning, isOff: false };
  }
  const found = isChecked ? partsFor(counts, total - own, usual) : usual;
  const parts = found ?? usual;
  const allInput = input + sumOf(counts, parts & inputParts);
  const allOutput = output + sumOf(counts, parts & reasoningBit);
  const excess = total - allInput - allOutput;
  if (found === undefined && excessIsReasoning && excess > 0 && !reasoning) {
    return { input: allInput, output: allOutput + excess, reasoning: excess, isOff: false };
  }
  // What was added to the output may be missing in the total, too.
  const isOff = found === undefined && !(isAdded && own === total);
  return { input: allInput, output: allOutput, reasoning, isOff };
}

/** The parts beside the input and the output that together have so many tokens. */
function partsFor(counts: UsageCounts, tokens: number, usual: Parts): Parts | undefined {
  if (sumOf(counts, usual) === tokens) return usual;
  for (const moved of movable) {
    const parts = usual ^ moved;
    if (sumOf(counts, parts) === tokens && fits(counts, moved & usual)) return parts;
  }
  return undefined;
}

function fits(counts: UsageCounts, parts: Parts): boolean {
  return (
    sumOf(counts, parts & inputParts) <= (statedInput(counts) ?? 0) &&
    sumOf(counts, parts & reasoningBit) <= (counts.output ?? 0)
  );
}

/** The sums if the input or the output is not stated: what a total leaves for it. */
function partialSums(counts: UsageCounts, input: number | undefined, total: number): Sums {
  const { output, reasoning } = counts;
  const parts = partsBeside(counts);
  const made =
    output === undefined ? (reasoning ?? 0) : output + sumOf(counts, parts & reasoningBit);
  const known = (input ?? 0) + sumOf(counts, parts & inputParts);
  const isLeft = input === undefined && total > 0;
  return {
    input: isLeft ? Math.max(known, total - made) : known,
    output: made,
    reasoning,
    isOff: false,
  };
}

/** Parts that always lie inside the input or the output, none of them larger than that. */
interface PartsInside {
  readonly inside: UsageCounts;
  readonly isAbove: boolean;
}

const partsOfInput = ['audioInput', 'imageInput', 'videoInput', 'written', 'written1h'] as const;
const partsOfOutput = ['audioOutput', 'imageOutput'] as const;

function partsInside(counts: UsageCounts, input: number, output: number): PartsInside {
  const { cached = 0, written = 0, audioInput = 0, imageInput = 0, videoInput = 0 } = counts;
  const { audioOutput = 0, imageOutput = 0 } = counts;
  const ofInput = Math.max(audioInput, imageInput, videoInput, cached + written);
  const isAbove = ofInput > input || audioOutput > output || imageOutput > output;
  if (!isAbove) return { inside: counts, isAbove };
  // A vendor has reported eleven tokens in an output of ten.
  const limited = (names: readonly CountName[], most: number) =>
    names.map((name) => [
      name,
      counts[name] === undefined ? undefined : Math.min(counts[name], most),
    ]);
  const parts = [...limited(partsOfInput, input), ...limited(partsOfOutput, output)];
  return { inside: { ...counts, ...Object.fromEntries(parts) }, isAbove };
}

function cachedMediaIn({
  cachedAudio,
  cachedImage,
  cachedVideo,
}: UsageCounts): Pick<ReplyUsage, 'cachedMedia'> | undefined {
  if ((cachedAudio ?? cachedImage ?? cachedVideo) === undefined) return undefined;
  return {
    cachedMedia: { audio: cachedAudio ?? 0, image: cachedImage ?? 0, video: cachedVideo ?? 0 },
  };
}
