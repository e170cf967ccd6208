/** What several protocols share: checks of members, their calls, and edits of a body. */
import { z } from 'zod';
import { wholeBody } from '../bytes/body/body.ts';
import { type MemberEdit, spliceMembers } from '../bytes/body/splice.ts';
import { scanBody } from '../bytes/json/scan/body.ts';
import { none, root, type Tape } from '../bytes/json/tape.ts';
import type { Call, Demand } from '../call.ts';
import { quoted } from '../canonical/raw-json.ts';
import type { FailureReason } from '../failure-reasons.ts';
import type { IncomingHeaders } from '../http.ts';
import { guardedUses, type ToolForm } from './find-guarded.ts';

/** A model's id. Well-formed, so that every JSON parser decodes it alike. */
export const modelField: z.ZodType<string> = z
  .string('must be a string: the id of a model')
  .min(1, 'must be the id of a model, not empty')
  .refine((id) => id.isWellFormed(), 'must be well-formed Unicode');

export const flagField: z.ZodType<boolean | null | undefined> = z
  .boolean('must be true or false')
  .nullish();

export const positiveField: z.ZodType<number | null | undefined> = z
  .int('must be a positive integer')
  .positive('must be a positive integer')
  .nullish();

/** What a protocol reads in a body, and what differs from a call for one whole reply. */
export interface ReadCall
  extends Pick<Call, 'protocol' | 'operation' | 'modelId' | 'references'>,
    Partial<Pick<Call, 'isModelInPath' | 'framing' | 'promptCacheKey' | 'wantsUsage'>>,
    Pick<Demand, 'prompt' | 'maxOutputTokens' | 'maxToolCalls'>,
    Partial<Pick<Demand, 'predictedBytes' | 'candidates' | 'size' | 'quality'>> {
  readonly toolForm?: ToolForm;
}

/** One literal for all: calls of different shapes would slow down every stage. */
export function newCall(tape: Tape, read: ReadCall): Call {
  return {
    protocol: read.protocol,
    operation: read.operation,
    modelId: read.modelId,
    isModelInPath: read.isModelInPath ?? false,
    framing: read.framing ?? 'json',
    body: tape.body,
    tape,
    promptCacheKey: read.promptCacheKey,
    wantsUsage: read.wantsUsage ?? true,
    references: read.references,
    demand: {
      prompt: read.prompt,
      predictedBytes: read.predictedBytes ?? 0,
      maxOutputTokens: read.maxOutputTokens,
      candidates: read.candidates ?? 1,
      size: read.size,
      quality: read.quality,
      maxToolCalls: read.maxToolCalls,
      guarded: guardedUses(tape, read.prompt.media, read.toolForm),
    },
  };
}

/** Replaces the model in a body by the channel's name for it. */
export function modelEdit(
  { modelId, isModelInPath }: Call,
  upstreamModel: string,
): readonly MemberEdit[] {
  return modelId === upstreamModel && !isModelInPath
    ? []
    : [{ name: 'model', value: quoted(upstreamModel) }];
}

/** Clients match vectors to inputs by order, so somebody should look at another number. */
export function countRemark(
  vectors: number,
  { demand }: Pick<Call, 'demand'>,
): FailureReason | undefined {
  return vectors === demand.prompt.inputs?.length ? undefined : 'upstream_count';
}

/** Names of sessions are ids; other values would be hashed for nothing. */
const sessionName = /^[!-~]{1,64}$/;

/** Undefined if missing, repeated, or not 1 to 64 printable ASCII characters without a space. */
export function sessionHeader(headers: IncomingHeaders, name: string): string | undefined {
  const value = headers[name];
  return typeof value === 'string' && sessionName.test(value) ? value : undefined;
}

/** Returns the edit of the outer member; undefined if the body has no object of that name. */
export function editInside(
  { tape }: Call,
  outerName: string,
  edit: MemberEdit,
): MemberEdit | undefined {
  const outer = tape.get(root, outerName);
  if (outer === none || !tape.isObject(outer)) return undefined;
  const inner = scanBody(wholeBody(tape.raw(outer)));
  return { name: outerName, value: Buffer.concat(spliceMembers(inner, [edit])).toString('utf8') };
}
