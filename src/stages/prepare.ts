/**
 * Prepares a call for a channel: relays it if the upstream speaks the caller's dialect, else
 * translates it.
 */
import { setImmediate } from 'node:timers/promises';
import { parseBodyExactly } from '../bytes/json/scan/body.ts';
import type { Call, OperationName } from '../call.ts';
import { maxTranslatedValues, tooComplex } from '../canonical/complexity.ts';
import type { ContentRequest } from '../canonical/request.ts';
import { capabilitiesOf } from '../dialects/capabilities.ts';
import type { ReplyHead, UpstreamTarget } from '../dialects/codec.ts';
import type { Dialect } from '../dialects/dialect.ts';
import type { ImageRequest } from '../dialects/image-codec.ts';
import { GatewayError } from '../errors.ts';
import { isJsonObject, type JsonObject } from '../json.ts';
import type { Channel } from '../ports/catalog.ts';
import { isRelayed, type Protocol } from '../protocols/protocol.ts';
import type { Admitted } from './call-record.ts';
import { withCountedImages } from './counted-images.ts';
import type { PreparedCall, WholeReply } from './prepared-call.ts';
import { prepareRelayed } from './relayed.ts';
import { estimatedCount, prepareUpstreamCount } from './token-count.ts';
import { prepareTranslated, type Translation } from './translated.ts';
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
}

/** Prepares one call for any number of channels. */
export interface Preparer {
  readonly prepare: PrepareForChannel;
  /**
   * Only for a large body: parses and reads it in separate turns of the event loop, if this dialect
   * needs it translated, because each takes a tenth of a second at 10 MB. Undefined if there is
   * nothing to do. Faults of the body are left to `prepare`.
   */
  readonly readAhead: ((dialect: Dialect) => Promise<void> | undefined) | undefined;
}

/** A body whose text is longer than this is parsed, read and written in separate turns. */
const maxBytesInOneTurn = 256 * 1024;

/** The request in the common form, read at the first use. */
interface RequestReaders {
  readonly parsed: () => JsonObject;
  readonly content: () => ContentRequest;
  readonly images: () => ImageRequest;
}

/** Makes the preparer of a call. */
export function preparer(admitted: Admitted): Preparer {
  const { call, model, route } = admitted;
  const { protocol } = route;
  // Made when needed: most calls are relayed.
  let readers: RequestReaders | undefined;
  const prepare: PrepareForChannel = (channel, dialect, upstreamModel) => {
    if (isRelayed(protocol, dialect)) {
      return prepareRelayed(call, protocol.relay, dialect, channel, upstreamModel);
    }
    readers ??= readersOf(call, protocol);
    const input = translationInput(admitted, channel, dialect, upstreamModel, readers);
    return translators[call.operation.name](input);
  };

  const readAhead = (dialect: Dialect): Promise<void> | undefined => {
    if (readers !== undefined || isRelayed(protocol, dialect)) return undefined;
    readers = readersOf(call, protocol);
    return readInTurns(readers, call.operation.name);
  };
  const { imageCounter } = protocol;
  const isPricedPerImage = !call.operation.isFree && model.price.per === 'image';
  return {
    prepare:
      imageCounter !== undefined && isPricedPerImage
        ? countingImages(prepare, imageCounter, call)
        : prepare,
    readAhead: call.body.text.length > maxBytesInOneTurn ? readAhead : undefined,
  };
}

function countingImages(
  prepare: PrepareForChannel,
  imageCounter: NonNullable<Protocol['imageCounter']>,
  call: Call,
): PrepareForChannel {
  return (channel, dialect, upstreamModel) => {
    const prepared = prepare(channel, dialect, upstreamModel);
    return 'kind' in prepared
      ? prepared
      : withCountedImages(prepared, () => imageCounter(call.framing));
  };
}

function readersOf(call: Call, { codecs }: Protocol): RequestReaders {
  const parsed = memoized(() => parsedBody(call));
  return {
    parsed,
    content: memoized(() =>
      codecOf(codecs.content).readRequest(parsed(), { streamed: call.framing !== 'json' }),
    ),
    images: memoized(() => codecOf(codecs.images)(parsed())),
  };
}

/** The common form that each operation is read into. */
const formOf: Readonly<Record<OperationName, 'content' | 'images'>> = {
  content: 'content',
  images: 'images',
  count_tokens: 'content',
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
  { call, model, route: { protocol }, received }: Admitted,
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
    modelId: call.modelId,
    wantsUsage: call.wantsUsage,
    framing: call.framing,
  };
  return { call, protocol, dialect, target, head, strict: model.strict === true, readers };
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
  count_tokens: (input) => {
    const { tokenCounter } = input.dialect;
    const translation = translationOf(input);
    const write = codecOf(input.protocol.codecs.countTokens);
    return tokenCounter === undefined
      ? estimatedCount(translation, write)
      : prepareUpstreamCount(translation, tokenCounter, write);
  },
};

function translationOf(input: TranslationInput): Translation {
  const { call, protocol, dialect, target, head, strict } = input;
  const request = input.readers.content();
  const hidesReasoning = request.reasoning?.includeThoughts !== true;
  return {
    call,
    request,
    writer: codecOf(protocol.codecs.content),
    dialect,
    target,
    head: { ...head, hidesReasoning },
    strict,
  };
}

/** Returns the codec, which exists for every channel in a pool of the protocol. */
function codecOf<T>(codec: T | undefined): T {
  if (codec !== undefined) return codec;
  throw new GatewayError('not_implemented', 'This call can not be translated for this provider.');
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
