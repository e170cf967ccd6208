/**
 * Prepares a call for a channel: relays it if the upstream speaks the caller's dialect, else
 * translates it.
 */
import { setImmediate } from 'node:timers/promises';
import { rawValues } from '../bytes/json/raw-values.ts';
import { parseBodyExactly } from '../bytes/json/scan/body.ts';
import type { Call, GuardedUse, OperationName } from '../call.ts';
import { maxTranslatedValues, tooComplex } from '../canonical/complexity.ts';
import { capabilitiesOf } from '../dialects/capabilities.ts';
import type { CallerExchange, ReplyHead, UpstreamTarget } from '../dialects/codec.ts';
import type { Dialect } from '../dialects/dialect.ts';
import type { EmbeddingCallerExchange } from '../dialects/embedding-codec.ts';
import type { ImageRequest } from '../dialects/image-codec.ts';
import { GatewayError } from '../errors.ts';
import { isJsonObject, type JsonObject } from '../json.ts';
import type { Channel, Model } from '../ports/catalog.ts';
import { isRelayed, type Protocol, type RelayRules } from '../protocols/protocol.ts';
import type { Admitted } from './call-record.ts';
import { leftOutTools } from './check-members.ts';
import { withCountedImages } from './counted-images.ts';
import { estimatedPrompt } from './estimated-prompt.ts';
import { droppedNote } from './notes.ts';
import { withoutTools } from './optional-tools.ts';
import type { PreparedCall, PreparedRequest, WholeReply } from './prepared-call.ts';
import { relayEdits, withKeptItems } from './reference-edits.ts';
import { type MoreEdits, prepareRelayed, type RelayInput } from './relayed.ts';
import { withRepair } from './repaired.ts';
import type { ResolvedReferences } from './resolved-references.ts';
import { estimatedCount, prepareUpstreamCount } from './token-count.ts';
import { prepareTranslated, type Translation } from './translated.ts';
import { prepareTranslatedEmbeddings } from './translated-embeddings.ts';
import { prepareTranslatedImage } from './translated-image.ts';

/** Either a prepared call to send, or a reply that needs no upstream. */
export type Prepared = PreparedCall | WholeReply;

/**
 * Prepares the call for a channel. The body is parsed at most once, and only if a channel needs it
 * translated.
 *
 * @throws GatewayError `not_portable`, `too_complex`, or `invalid_request` for a request that this
 *   channel can't serve
 */
export type PrepareForChannel = (
  channel: Channel,
  dialect: Dialect,
  upstreamModel: string,
  /** The account, if the call refers to something that only one account may have. */
  account?: string,
) => Prepared;

/** A call that is to be translated for a channel of another dialect. */
interface TranslationInput {
  readonly call: Call;
  readonly protocol: Protocol;
  readonly dialect: Dialect;
  readonly target: UpstreamTarget;
  readonly head: ReplyHead;
  readonly strict: boolean;
  readonly readers: RequestReaders;
  readonly model: Model;
  readonly maxEmbeddingPieces: number;
}

/** Prepares one call for any number of channels. */
export interface Preparer {
  readonly prepare: PrepareForChannel;
  /**
   * Only for a large body: parses and reads it in separate turns of the event loop, if this channel
   * needs it translated, because each takes a tenth of a second at 10 MB. Undefined if there is
   * nothing to do. Faults of the body are left to `prepare`.
   */
  readonly readAhead:
    | ((channel: Channel, dialect: Dialect, upstreamModel: string) => Promise<void> | undefined)
    | undefined;
}

/** A body whose text is longer than this is parsed, read and written in separate turns. */
const maxBytesInOneTurn = 256 * 1024;

/** The request in the common form, read at the first use. */
interface RequestReaders {
  readonly parsed: () => JsonObject;
  readonly content: () => CallerExchange;
  readonly images: () => ImageRequest;
  readonly embeddings: () => EmbeddingCallerExchange;
}

/** Makes the preparer of a call. */
export function preparer(admitted: Admitted, reportRepair: (channelId: string) => void): Preparer {
  const { call, model, route, references } = admitted;
  const { requestId } = admitted.received.responseContext;
  const { protocol } = route;
  const { relay, imageCounter } = protocol;
  const leftOut =
    protocol.optionalTools === undefined ? undefined : leftOutTools(call, model, protocol);
  const own = relay.forward ?? relay.cuts ?? relay.repair;
  const isPlain = (references ?? leftOut ?? own) === undefined;
  // Made when needed: most calls are relayed.
  let readers: RequestReaders | undefined;
  const prepare: PrepareForChannel = (channel, dialect, upstreamModel, account = channel.id) => {
    if (isRelayed(protocol, dialect, channel, upstreamModel)) {
      const input = { call, rules: relay, dialect, channel, upstreamModel, requestId };
      return isPlain
        ? prepareRelayed(input)
        : prepareEdited(input, admitted, { leftOut, account, reportRepair });
    }
    readers ??= readersOf(admitted);
    const input = translationInput(admitted, channel, dialect, upstreamModel, readers);
    return translators[call.operation.name](input);
  };
  const readAhead: Preparer['readAhead'] = (channel, dialect, upstreamModel) => {
    if (readers !== undefined || isRelayed(protocol, dialect, channel, upstreamModel)) return;
    readers = readersOf(admitted);
    return readInTurns(readers, call.operation.name);
  };
  const textBytes = call.body.text.length + (references?.keptBytes ?? 0);
  const isPricedPerImage = !call.operation.isFree && model.price.per === 'image';
  return {
    prepare:
      imageCounter !== undefined && isPricedPerImage
        ? countingImages(prepare, imageCounter, call)
        : prepare,
    readAhead: textBytes > maxBytesInOneTurn ? readAhead : undefined,
  };
}

function countingImages(
  prepare: PrepareForChannel,
  imageCounter: NonNullable<Protocol['imageCounter']>,
  call: Call,
): PrepareForChannel {
  return (channel, dialect, upstreamModel) => {
    const prepared = prepare(channel, dialect, upstreamModel);
    return 'kind' in prepared || prepared.series !== undefined
      ? prepared
      : withCountedImages(prepared, () => imageCounter(call.framing));
  };
}

/** What an edited relay depends on, besides its call and channel. */
interface EditInput {
  readonly leftOut: readonly GuardedUse[] | undefined;
  readonly account: string;
  readonly reportRepair: Parameters<typeof preparer>[1];
}

/** Prepares a call that is relayed with edits, or with more than its body. */
function prepareEdited(
  input: RelayInput,
  admitted: Admitted,
  { leftOut, account, reportRepair }: EditInput,
): PreparedCall {
  const { call, channel, rules } = input;
  const { references } = admitted;
  const relayed = prepareRelayed(input, moreEdits(admitted, leftOut, { channel, account }));
  const prepared =
    rules.repair === undefined
      ? relayed
      : withRepair(relayed, rules.repair, { call, channel, report: reportRepair });
  return references === undefined ? prepared : noticingUnreadable(prepared, references, rules);
}

/**
 * What is sent besides the body, and the edits that the references of a call, the tools that it can
 * do without, and reasoning of other providers make necessary.
 */
function moreEdits(
  { call, model, references, route, received }: Admitted,
  leftOut: readonly GuardedUse[] | undefined,
  { channel, account }: { readonly channel: Channel; readonly account: string },
): MoreEdits {
  const { relay } = route.protocol;
  const forwarded = relay.forward?.(received.request, channel, model);
  const cut = relay.cuts?.(call);
  const changes = [
    ...(references === undefined ? [] : [relayEdits(call, references, account)]),
    ...(leftOut === undefined ? [] : [withoutTools(call, leftOut)]),
  ];
  const changed = changes.flatMap((one) => one.changed);
  // Clients send these on their own, so a strict model drops them too: the upstream can't read
  // them, or the operator does not allow them.
  const unasked = [...(cut?.changed ?? []), ...(forwarded?.dropped ?? [])];
  return {
    extra: changes.flatMap(({ edits }) => edits),
    cuts: cut?.spans ?? [],
    forwarded,
    countedBytes: references?.keptBytes ?? 0,
    notes: droppedNote([...changed, ...unasked], model.strict === true, new Set(unasked)),
  };
}

/** Detects that the upstream can't read encrypted content of unknown origin. */
function noticingUnreadable(
  prepared: PreparedRequest,
  references: ResolvedReferences,
  { refusesSealed }: RelayRules,
): PreparedRequest {
  if (refusesSealed === undefined || !hasRemovableUnknown(references)) return prepared;
  return {
    ...prepared,
    replyToRefusal: (refusal) => {
      if (refusesSealed(refusal)) {
        references.leavesOutUnknown = true;
        references.mustResend = true;
      }
      return prepared.replyToRefusal(refusal);
    },
  };
}

function hasRemovableUnknown({ sealed, leavesOutUnknown }: ResolvedReferences): boolean {
  const unknown = sealed.filter(({ account }) => account === undefined);
  return (
    !leavesOutUnknown &&
    unknown.length > 0 &&
    unknown.every(({ reference }) => reference.isRemovable)
  );
}

function readersOf({ call, route, references, received }: Admitted): RequestReaders {
  const { protocol } = route;
  const { codecs } = protocol;
  const parsed = memoized(() => {
    const body = parsedBody(call);
    return references === undefined ? body : withKeptItems(body, references);
  });
  return {
    parsed,
    content: memoized(() =>
      codecOf(codecs.content).begin(parsed(), {
        streamed: call.framing !== 'json',
        session: protocol.sessionOf?.(call, received.request.headers),
        rawJson: rawValues(call.tape),
      }),
    ),
    images: memoized(() => codecOf(codecs.images)(parsed())),
    embeddings: memoized(() => codecOf(codecs.embeddings).begin(parsed())),
  };
}

/** The common form that each operation is read into. */
const formOf: Readonly<Record<OperationName, 'content' | 'images' | 'embeddings'>> = {
  content: 'content',
  images: 'images',
  embed: 'embeddings',
  count_tokens: 'content',
  compact: 'content',
};

async function readInTurns(readers: RequestReaders, operation: OperationName): Promise<void> {
  for (const step of [readers.parsed, readers[formOf[operation]]]) {
    await setImmediate();
    // It throws again when the call is prepared.
    if ('error' in resultOf<unknown>(step)) return;
  }
  await setImmediate();
}

function translationInput(
  { call, model, hold, route: { protocol }, received }: Admitted,
  channel: Channel,
  dialect: Dialect,
  upstreamModel: string,
  readers: RequestReaders,
): TranslationInput {
  const { settings, responseContext } = received;
  const target: UpstreamTarget = {
    upstreamModel,
    capabilities: capabilitiesOf(dialect.capabilities, upstreamModel, channel.capabilities),
    maxOutputTokens: model.maxOutputTokens,
    ids: settings.ids,
  };
  const head: ReplyHead = {
    fallbackId: responseContext.requestId,
    createdSeconds: Math.floor(settings.clock.now() / 1_000),
    newId: settings.ids,
    modelId: call.modelId,
    wantsUsage: call.wantsUsage,
    framing: call.framing,
    keepsOutput: settings.responses.items !== undefined,
    estimatedInputTokens: () => estimatedPrompt(call, model, hold),
  };
  const strict = model.strict === true;
  const { maxEmbeddingPieces } = settings;
  return { call, protocol, dialect, target, head, strict, readers, model, maxEmbeddingPieces };
}

/** The translator of each operation. */
const translators: Readonly<Record<OperationName, (input: TranslationInput) => Prepared>> = {
  content: (input) => prepareTranslated(translationOf(input)),
  images: ({ readers, dialect, target, head, strict }) =>
    prepareTranslatedImage({
      request: readers.images(),
      dialect,
      codec: codecOf(dialect.images),
      target,
      head,
      strict,
    }),
  embed: ({ call, model, dialect, target, head, readers, maxEmbeddingPieces }) =>
    prepareTranslatedEmbeddings({
      call,
      model,
      caller: readers.embeddings(),
      dialect,
      codec: codecOf(dialect.embeddings),
      target,
      head,
      maxPieces: maxEmbeddingPieces,
    }),
  count_tokens: (input) => {
    const { tokenCounter } = input.dialect;
    const translation = translationOf(input);
    const codec = codecOf(input.protocol.codecs.countTokens);
    return tokenCounter === undefined
      ? estimatedCount(translation, codec)
      : prepareUpstreamCount(translation, tokenCounter, codec);
  },
  compact: () => {
    throw new GatewayError(
      'not_portable',
      "This model can't compact conversations, because its provider has no Responses API. " +
        'Use a model whose provider has one.',
    );
  },
};

function translationOf(input: TranslationInput): Translation {
  const { call, dialect, target, head, strict } = input;
  const caller = input.readers.content();
  const hidesReasoning = caller.request.reasoning?.includeThoughts !== true;
  return {
    call,
    caller,
    dialect,
    target,
    head: { ...head, hidesReasoning, needsReasoningBack: target.capabilities.reasoningHistory },
    strict,
  };
}

/** Returns the codec, which exists for every channel in a pool of the protocol. */
function codecOf<T>(codec: T | undefined): T {
  if (codec !== undefined) return codec;
  throw new GatewayError('not_implemented', "This call can't be translated for this provider.");
}

/**
 * Caches what `make` returns or throws at its first call, so that a refused body is not parsed
 * again.
 */
function memoized<T>(make: () => T): () => T {
  let made: { readonly value: T } | { readonly error: unknown } | undefined;
  return () => {
    made ??= resultOf(make);
    if ('error' in made) throw made.error;
    return made.value;
  };
}

function resultOf<T>(make: () => T): { readonly value: T } | { readonly error: unknown } {
  try {
    return { value: make() };
  } catch (error) {
    return { error };
  }
}

/**
 * @throws GatewayError `too_complex`, or `invalid_request` for faults that the scan leaves to the
 *   parser
 */
function parsedBody({ body, isTooComplex }: Call): JsonObject {
  if (isTooComplex === true) throw tooComplex(`${maxTranslatedValues} values`);
  const parsed = parseBodyExactly(body);
  return isJsonObject(parsed) ? parsed : {};
}
