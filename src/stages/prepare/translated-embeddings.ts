/**
 * Translates an embedding call for an upstream of another dialect. A call with more inputs than the
 * upstream takes at once becomes a series of requests; the reply has all vectors or is an error.
 */

import { maxUnpacedBytes, type ReplyPieces } from '../../bytes/body/paced-reply.ts';
import { emptyBytes } from '../../bytes/sse.ts';
import type { PromptSize } from '../../call.ts';
import type { EmbeddingRequest } from '../../canonical/embeddings.ts';
import type { Vector } from '../../canonical/vectors.ts';
import type { ReplyHead } from '../../dialects/codec.ts';
import { type Dialect, upstreamPath } from '../../dialects/dialect.ts';
import type { EmbeddingCallerExchange, EmbeddingExchange } from '../../dialects/embedding-codec.ts';
import { type EmbeddingReply, embeddingReader } from '../../dialects/embedding-reader.ts';
import { GatewayError } from '../../errors.ts';
import type { HeaderMap } from '../../http.ts';
import { allReported, noUsage, type Usage, type UsageRemarks } from '../../money.ts';
import type { Model } from '../../ports/models/catalog.ts';
import { estimatedTokens } from '../settle/estimated-prompt.ts';
import {
  droppedNote,
  estimatedNote,
  type MadeReply,
  type PreparedSeries,
  type RequestSeries,
  type SeriesReader,
  type WholeReply,
} from './prepared-call.ts';
import { codecOf, type Translation } from './translated.ts';

export function prepareTranslatedEmbeddings(translation: Translation): PreparedSeries {
  const { admitted, readers, dialect, client, target, head } = translation;
  const { call, model, received } = admitted;
  const caller = readers.embeddings();
  const { request } = caller;
  const exchange = codecOf(client.embeddings).begin(request, target);
  const batch = target.capabilities.embeddingBatch;
  checkPieces(request, batch, received.settings.maxEmbeddingPieces);
  const prompt = promptOf(call.demand.prompt, request);
  const scales = caller.unitLengthMember !== undefined && !exchange.hasUnitLength;
  const written = { caller, exchange, dialect, model, head, batch, prompt, scales };
  // A strict model refuses a call only for dropped members of its request. Changes of the reply,
  // such as scaled vectors, are only noted.
  const dropped = droppedNote([...request.dropped, ...exchange.dropped], model.strict === true);
  return {
    dialect,
    path: upstreamPath(dialect, call, target.upstreamModel),
    framing: 'json',
    body: bodyOf(written, 0),
    prompt: prompt === call.demand.prompt ? undefined : prompt,
    notes: dropped,
    series: () => new EmbeddingSeries(written),
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

interface WrittenCall {
  readonly caller: EmbeddingCallerExchange;
  readonly exchange: EmbeddingExchange;
  readonly dialect: Dialect;
  readonly model: Model;
  readonly head: ReplyHead;
  readonly batch: number;
  /** The sizes of the inputs, each with what is sent along with it. */
  readonly prompt: PromptSize;
  readonly scales: boolean;
}

function bodyOf({ exchange, batch, caller }: WrittenCall, from: number): readonly Uint8Array[] {
  const end = Math.min(from + batch, caller.request.inputs.length);
  return [Buffer.from(exchange.body(from, end))];
}

interface Spent {
  readonly inputTokens: number;
  /** The part of `inputTokens` that was estimated; undefined if all replies reported usage. */
  readonly estimatedInputTokens: number | undefined;
  /** The cost is the sum of all requests, if each states one. */
  readonly remarks: UsageRemarks | undefined;
}

class EmbeddingSeries implements RequestSeries {
  readonly #call: WrittenCall;
  readonly #vectors: Vector[] = [];
  /** The index of the first input of the current request. */
  #from = 0;
  #spent: Spent = { inputTokens: 0, estimatedInputTokens: undefined, remarks: undefined };

  constructor(call: WrittenCall) {
    this.#call = call;
  }

  get isSplit(): boolean {
    return this.#count > this.#call.batch;
  }

  get #count(): number {
    return this.#call.caller.request.inputs.length;
  }

  read(): SeriesReader {
    const { caller, exchange, dialect, scales, batch } = this.#call;
    const count = Math.min(batch, this.#count - this.#from);
    // The model decides how long the vectors are, and all of a call must be equally long.
    const dimensions = caller.request.dimensions ?? this.#vectors[0]?.length;
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
        this.#take(reply, count);
        return undefined;
      },
    };
  }

  next(): readonly Uint8Array[] | undefined {
    this.#from += this.#call.batch;
    return this.#from < this.#count ? bodyOf(this.#call, this.#from) : undefined;
  }

  used(): Usage | undefined {
    return this.#vectors.length === 0 ? undefined : usageOf(this.#spent);
  }

  sent(): Usage {
    const hasReply = this.#vectors.length > this.#from;
    return usageOf(hasReply ? this.#spent : this.#withEstimate(this.#spent, this.#call.batch));
  }

  /** A reply that fits into one piece is sent at once. */
  reply(): WholeReply | MadeReply {
    const usage = usageOf(this.#spent);
    const notes = this.#notes();
    const begun = this.#pieces();
    const first = begun.next() ?? emptyBytes;
    const second = begun.next();
    if (second === undefined) return { kind: 'whole', bytes: first, usage, notes };
    return { kind: 'made', pieces: () => this.#pieces(), usage, notes };
  }

  #take(
    { vectors, usage }: Extract<EmbeddingReply, { readonly kind: 'vectors' }>,
    count: number,
  ): void {
    const before = this.#spent;
    const remarks = this.#from === 0 ? usage?.remarks : sumOf(before.remarks, usage?.remarks);
    for (const vector of vectors) this.#vectors.push(vector);
    this.#spent =
      usage === undefined
        ? this.#withEstimate({ ...before, remarks }, count)
        : { ...before, remarks, inputTokens: before.inputTokens + usage.inputTokens };
  }

  #withEstimate({ inputTokens, estimatedInputTokens = 0, remarks }: Spent, count: number): Spent {
    const { prompt, model } = this.#call;
    const inputs = prompt.inputs?.slice(this.#from, this.#from + count) ?? [];
    const tokens = estimatedTokens({ ...prompt, textBytes: 0, inputs }, model);
    return {
      inputTokens: inputTokens + tokens,
      estimatedInputTokens: estimatedInputTokens + tokens,
      remarks: sumOf(remarks, undefined),
    };
  }

  #notes(): HeaderMap {
    const { caller, exchange, scales } = this.#call;
    const { unitLengthMember, estimateMember, request } = caller;
    const replaced = scales && unitLengthMember !== undefined ? [unitLengthMember] : [];
    const isEstimated = this.#spent.estimatedInputTokens !== undefined;
    return {
      ...droppedNote([...request.dropped, ...exchange.dropped, ...replaced], false),
      ...(isEstimated && estimateMember !== undefined ? estimatedNote(estimateMember) : {}),
    };
  }

  #pieces(): ReplyPieces {
    const { caller, head } = this.#call;
    const { writer, estimateMember } = caller;
    const vectors = this.#vectors;
    const { estimatedInputTokens, inputTokens } = this.#spent;
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
}

function sumOf(one: UsageRemarks | undefined, other: UsageRemarks | undefined): UsageRemarks {
  const { costNanos: costBefore, ...before } = one ?? {};
  const { costNanos: cost, ...now } = other ?? {};
  const isKnown = costBefore !== undefined && cost !== undefined;
  return { ...before, ...now, ...(isKnown ? { costNanos: costBefore + cost } : {}) };
}

function usageOf({ inputTokens, estimatedInputTokens: input, remarks }: Spent): Usage {
  const unreported = input === undefined ? undefined : { ...allReported, input };
  return { ...noUsage, inputTokens, unreported, remarks };
}
