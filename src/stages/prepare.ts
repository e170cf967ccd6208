/**
 * Prepares a call for a channel: relays it if the upstream speaks the caller's dialect, else
 * translates it.
 */
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
import { relayed } from './relayed.ts';
import { countedUpstream, estimatedCount } from './token-count.ts';
import { type Translation, translated } from './translated.ts';
import { translatedImage } from './translated-image.ts';

/** Either a prepared call to send, or a reply that needs no upstream. */
export type Prepared = PreparedCall | WholeReply;

/**
 * Prepares the call for a channel. The body is parsed at most once, and only if a channel needs it
 * translated.
 *
 * @throws GatewayError `not_portable`, `too_complex`, or `invalid_request` for a request that this
 *   channel can't serve
 */
export type Preparation = (channel: Channel, dialect: Dialect, upstreamModel: string) => Prepared;

/** A call that is to be translated for a channel of another dialect. */
interface Crossing {
  readonly call: Call;
  readonly protocol: Protocol;
  readonly dialect: Dialect;
  readonly target: UpstreamTarget;
  readonly head: ReplyHead;
  readonly strict: boolean;
  /** The request in the common form, read at the first use. */
  readonly content: () => ContentRequest;
  readonly images: () => ImageRequest;
}

/** Prepares one call for any number of channels. */
export function preparation({ call, model, route, received }: Admitted): Preparation {
  const { protocol } = route;
  const { settings, answer } = received;
  const content = once(() =>
    codecOf(protocol.codecs.content).readRequest(bodyOf(call), {
      streamed: call.framing !== 'json',
    }),
  );
  const images = once(() => codecOf(protocol.codecs.images)(bodyOf(call)));
  const { imageCounter } = protocol;
  const counted = (prepared: Prepared): Prepared =>
    'kind' in prepared ||
    imageCounter === undefined ||
    call.operation.isFree ||
    model.price.per !== 'image'
      ? prepared
      : withCountedImages(prepared, () => imageCounter(call.framing));

  return (channel, dialect, upstreamModel) => {
    if (isRelayed(protocol, dialect)) {
      return counted(relayed(call, protocol.relay, dialect, channel, upstreamModel));
    }
    const target: UpstreamTarget = {
      upstreamModel,
      capabilities: capabilitiesOf(dialect.capabilities, upstreamModel, channel.capabilities),
      maxOutputTokens: model.maxOutputTokens,
      ids: settings.ids,
    };
    const head: ReplyHead = {
      fallbackId: answer.requestId,
      createdSeconds: Math.floor(settings.clock.now() / 1_000),
      modelId: call.modelId,
      wantsUsage: call.wantsUsage,
      framing: call.framing,
    };
    const strict = model.strict === true;
    const crossing = { call, protocol, dialect, target, head, strict, content, images };
    return counted(translators[call.operation.name](crossing));
  };
}

/** The translator of each operation. */
const translators: Readonly<Record<OperationName, (crossing: Crossing) => Prepared>> = {
  content: (crossing) => translated(translationOf(crossing)),
  images: ({ images, dialect, target, head, strict }) =>
    translatedImage({
      request: images(),
      dialect,
      codec: codecOf(dialect.images),
      target,
      head,
      strict,
    }),
  count_tokens: (crossing) => {
    const { tokenCounter } = crossing.dialect;
    const translation = translationOf(crossing);
    const write = codecOf(crossing.protocol.codecs.countTokens);
    return tokenCounter === undefined
      ? estimatedCount(translation, write)
      : countedUpstream(translation, tokenCounter, write);
  },
};

function translationOf(crossing: Crossing): Translation {
  const { call, protocol, dialect, target, head, strict } = crossing;
  const request = crossing.content();
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
function once<T>(make: () => T): () => T {
  let made: { readonly value: T } | { readonly error: unknown } | undefined;
  return () => {
    made ??= outcomeOf(make);
    if ('error' in made) throw made.error;
    return made.value;
  };
}

function outcomeOf<T>(make: () => T): { readonly value: T } | { readonly error: unknown } {
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
function bodyOf({ body, isTooComplex }: Call): JsonObject {
  if (isTooComplex === true) throw tooComplex(`${maxTranslatedValues} values`);
  const parsed = parseBodyExactly(body);
  return isJsonObject(parsed) ? parsed : {};
}
