/**
 * Translates an embedding call for an upstream of another dialect. A call with more inputs than the
 * upstream takes at once becomes a series of requests; the reply has all vectors or is an error.
 */

import { operations } from '../../apis.ts';
import { maxUnpacedBytes, type ReplyPieces } from '../../bytes/body/paced-reply.ts';
import { emptyBytes } from '../../bytes/sse.ts';
import type { Call, PromptSize } from '../../call.ts';
import type { EmbeddingRequest } from '../../canonical/embeddings.ts';
import type { Vector } from '../../canonical/vectors.ts';
import type { ReplyHead, UpstreamTarget } from '../../dialects/codec.ts';
import { type Dialect, upstreamPath } from '../../dialects/dialect.ts';
import type {
  EmbeddingCallerExchange,
  EmbeddingClientCodec,
  EmbeddingExchange,
} from '../../dialects/embedding-codec.ts';
import { type EmbeddingReply, embeddingReader } from '../../dialects/embedding-reader.ts';
import { GatewayError } from '../../errors.ts';
import type { HeaderMap } from '../../http.ts';
import { allReported, noUsage, type Usage, type UsageRemarks } from '../../money.ts';
import type { Model } from '../../ports/catalog.ts';
import { estimatedTokens } from '../settle/estimated-prompt.ts';
import { droppedNote, estimatedNote } from './notes.ts';
import type {
  MadeReply,
  PreparedSeries,
  RequestSeries,
  SeriesReader,
  WholeReply,
} from './prepared-call.ts';

export interface EmbeddingTranslation {
  readonly call: Call;
  readonly model: Model;
  readonly caller: EmbeddingCallerExchange;
  readonly dialect: Dialect;
  readonly codec: EmbeddingClientCodec;
  readonly target: UpstreamTarget;
  readonly head: ReplyHead;
  /** The most requests that one call may take. */
  readonly maxPieces: number;
}

interface WrittenTranslation extends EmbeddingTranslation {
  readonly exchange: EmbeddingExchange;
  readonly batch: number;
  /** The sizes of the inputs, each with what is sent along with it. */
  readonly prompt: PromptSize;
  readonly scales: boolean;
}

export function prepareTranslatedEmbeddings(translation: EmbeddingTranslation): PreparedSeries {
  const { call, model, caller, dialect, codec, target } = translation;
  const { request } = caller;
  const exchange = codec.begin(request, target);
  const batch = target.capabilities.embeddingBatch;
  checkPieces(request, batch, translation.maxPieces);
  const prompt = promptOf(call.demand.prompt, request);
  const scales = caller.unitLengthMember !== undefined && !exchange.hasUnitLength;
  const written: WrittenTranslation = { ...translation, exchange, batch, prompt, scales };
  // A strict model refuses a call only for dropped members of its request. Changes of the reply,
  // such as scaled vectors, are only noted.
  const dropped = droppedNote([...request.dropped, ...exchange.dropped], model.strict === true);
  return {
    dialect,
    path: upstreamPath(
      dialect,
      { operation: operations.embed, framing: 'json' },
      target.upstreamModel,
    ),
    framing: 'json',
    body: bodyOf(written, 0),
    prompt: prompt === call.demand.prompt ? undefined : prompt,
    notes: dropped,
    series: () => seriesOf(written),
    replyToRefusal: () => undefined,
  };
}

function checkPieces({ inputs, inputMember }: EmbeddingRequest, batch: number, max: number): void {
  const most = batch * max;
  if (inputs.length <= most) return;
  throw new GatewayError(
    'not_portable',
    `\`${inputMember}\` has ${inputs.length} inputs, ` +
      `and this model takes at most ${most} in one call.`,
    { param: inputMember },
  );
}

/** A title counts with each input. */
function promptOf(prompt: PromptSize, { title }: EmbeddingRequest): PromptSize {
  const { inputs } = prompt;
  if (title === undefined || inputs === undefined) return prompt;
  const titleBytes = Buffer.byteLength(title.text);
  return {
    ...prompt,
    inputs: inputs.map((input) => ({ ...input, textBytes: input.textBytes + titleBytes })),
  };
}

function bodyOf(
  { exchange, batch, caller }: WrittenTranslation,
  from: number,
): readonly Uint8Array[] {
  const end = Math.min(from + batch, caller.request.inputs.length);
  return [Buffer.from(exchange.body(from, end))];
}

interface SeriesState {
  /** The index of the first input of the current request. */
  from: number;
  readonly vectors: Vector[];
  inputTokens: number;
  /** The part of `inputTokens` that was estimated; undefined if all replies reported usage. */
  estimatedInputTokens: number | undefined;
  /** The cost is the sum of all requests, if each states one. */
  remarks: UsageRemarks | undefined;
}

function seriesOf(translation: WrittenTranslation): RequestSeries {
  const { batch, caller } = translation;
  const count = caller.request.inputs.length;
  const state: SeriesState = {
    from: 0,
    vectors: [],
    inputTokens: 0,
    estimatedInputTokens: undefined,
    remarks: undefined,
  };
  return {
    isSplit: count > batch,
    read: () => readerOf(translation, state, Math.min(batch, count - state.from)),
    next: () => {
      state.from += batch;
      return state.from < count ? bodyOf(translation, state.from) : undefined;
    },
    used: () => (state.vectors.length === 0 ? undefined : usedBy(state)),
    sent: () => {
      const all = { ...state };
      if (state.vectors.length <= state.from) addEstimate(all, translation, batch);
      return usedBy(all);
    },
    reply: () => replyOf(translation, state),
  };
}

function readerOf(
  translation: WrittenTranslation,
  state: SeriesState,
  count: number,
): SeriesReader {
  const { caller, exchange, dialect, scales } = translation;
  // The model decides how long the vectors are, and all of a call must be equally long.
  const dimensions = caller.request.dimensions ?? state.vectors[0]?.length;
  const reader = embeddingReader(exchange.reply, dialect, {
    count,
    dimensions,
    form: { keepsText: caller.keepsText, scalesToUnitLength: scales },
  });
  return {
    write: reader.write,
    end: () => {
      const reply = reader.end();
      if (reply.kind === 'failure') return reply;
      // Vectors are not counted in tokens.
      if (reply.kind === 'bad') return { ...reply, countedTokens: 0 };
      take(reply, translation, state, count);
      return undefined;
    },
  };
}

function take(
  { vectors, usage }: Extract<EmbeddingReply, { readonly kind: 'vectors' }>,
  translation: WrittenTranslation,
  state: SeriesState,
  count: number,
): void {
  state.remarks = state.from === 0 ? usage?.remarks : sumOf(state.remarks, usage?.remarks);
  for (const vector of vectors) state.vectors.push(vector);
  if (usage === undefined) addEstimate(state, translation, count);
  else state.inputTokens += usage.inputTokens;
}

function sumOf(one: UsageRemarks | undefined, other: UsageRemarks | undefined): UsageRemarks {
  const { costNanos: costBefore, ...before } = one ?? {};
  const { costNanos: cost, ...now } = other ?? {};
  const isKnown = costBefore !== undefined && cost !== undefined;
  return { ...before, ...now, ...(isKnown ? { costNanos: costBefore + cost } : {}) };
}

function addEstimate(
  state: SeriesState,
  { prompt, model }: WrittenTranslation,
  count: number,
): void {
  const inputs = prompt.inputs?.slice(state.from, state.from + count) ?? [];
  const tokens = estimatedTokens({ ...prompt, textBytes: 0, inputs }, model);
  state.inputTokens += tokens;
  state.remarks = sumOf(state.remarks, undefined);
  state.estimatedInputTokens = (state.estimatedInputTokens ?? 0) + tokens;
}

function usedBy({ inputTokens, estimatedInputTokens: input, remarks }: SeriesState): Usage {
  const unreported = input === undefined ? undefined : { ...allReported, input };
  return { ...noUsage, inputTokens, unreported, remarks };
}

/** A reply that fits into one piece is sent at once. */
function replyOf(translation: WrittenTranslation, state: SeriesState): WholeReply | MadeReply {
  const usage = usedBy(state);
  const notes = notesOf(translation, state);
  const begun = piecesOf(translation, state);
  const first = begun.next() ?? emptyBytes;
  const second = begun.next();
  if (second === undefined) return { kind: 'whole', bytes: first, usage, notes };
  return { kind: 'made', pieces: () => piecesOf(translation, state), usage, notes };
}

function notesOf(
  { caller, exchange, scales }: WrittenTranslation,
  { estimatedInputTokens }: SeriesState,
): HeaderMap {
  const { unitLengthMember, estimateMember, request } = caller;
  const replaced = scales && unitLengthMember !== undefined ? [unitLengthMember] : [];
  return {
    ...droppedNote([...request.dropped, ...exchange.dropped, ...replaced], false),
    ...(estimatedInputTokens !== undefined && estimateMember !== undefined
      ? estimatedNote(estimateMember)
      : {}),
  };
}

function piecesOf({ caller, head }: WrittenTranslation, state: SeriesState): ReplyPieces {
  const { writer, estimateMember } = caller;
  const { vectors, estimatedInputTokens, inputTokens } = state;
  const isReported = estimatedInputTokens === undefined || estimateMember !== undefined;
  const statedTokens = isReported ? inputTokens : undefined;
  let index = -1;
  return {
    isComputed: true,
    next: () => {
      if (index === vectors.length) return undefined;
      let text = '';
      if (index === -1) {
        text = writer.head();
        index = 0;
      }
      for (; text.length < maxUnpacedBytes; index += 1) {
        const vector = vectors[index];
        if (vector === undefined) break;
        text += writer.vector(vector, index);
      }
      if (index < vectors.length) return Buffer.from(text);
      index = vectors.length;
      return Buffer.from(text + writer.tail(head.modelId, statedTokens));
    },
  };
}
