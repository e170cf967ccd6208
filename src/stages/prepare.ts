/**
 * Makes a call ready for a channel: relayed where the upstream speaks the caller's dialect,
 * translated where it does not.
 */
import { parsedExactly } from '../bytes/scan-body.ts';
import type { Call } from '../call.ts';
import { maxTranslatedValues, tooComplex } from '../canonical/complexity.ts';
import { capabilitiesOf } from '../dialects/capabilities.ts';
import type { ReplyHead, UpstreamTarget } from '../dialects/codec.ts';
import type { Dialect } from '../dialects/dialect.ts';
import { callerDialects, spokenIn } from '../dialects/table.ts';
import { isJsonObject, type JsonObject } from '../json.ts';
import type { Settings } from '../options.ts';
import type { Channel, Model } from '../ports/catalog.ts';
import { withCountedImages } from './counted-images.ts';
import type { Exchange, WholeReply } from './exchange.ts';
import { relayed } from './relayed.ts';
import { countedUpstream, estimatedCount } from './token-count.ts';
import { type Translation, translated } from './translated.ts';
import { translatedImage } from './translated-image.ts';

/** Either what to send, or a reply that needs no upstream. */
export type Prepared = Exchange | WholeReply;

/**
 * Makes the call ready for a channel; its body is parsed and read once, and only if a channel needs
 * it translated.
 *
 * @throws GatewayError `not_portable`, `too_complex`, `invalid_request` for what this channel can't
 *   be told
 */
export type Preparation = (channel: Channel, dialect: Dialect, upstreamModel: string) => Prepared;

/** What preparing takes beside the call. */
export interface PrepareContext {
  readonly requestId: string;
  readonly settings: Pick<Settings, 'clock' | 'ids'>;
}

/** Prepares one call for any number of channels. */
export function preparation(call: Call, model: Model, context: PrepareContext): Preparation {
  const caller = callerDialects[spokenIn[call.protocol]];
  const { ids, clock } = context.settings;
  const request = once(() =>
    caller.content.readRequest(bodyOf(call), { streamed: call.framing !== 'json' }),
  );
  const { imageCounter } = caller;
  // The reply of the images protocol says itself how many it has.
  const isPricedByImage = model.price.per === 'image' && !isImage(call) && !isCount(call);
  const counted = (exchange: Exchange): Exchange =>
    isPricedByImage && imageCounter !== undefined
      ? withCountedImages(exchange, () => imageCounter(call.framing))
      : exchange;
  const imageRequest = once(() => caller.readImageRequest?.(bodyOf(call)));

  return (channel, dialect, upstreamModel) => {
    if (dialect.name === caller.name) {
      return counted(relayed(call, caller, dialect, channel, upstreamModel));
    }
    const target: UpstreamTarget = {
      upstreamModel,
      capabilities: capabilitiesOf(dialect.capabilities, upstreamModel, channel.capabilities),
      maxOutputTokens: model.maxOutputTokens,
      ids,
    };
    const head: ReplyHead = {
      fallbackId: context.requestId,
      createdSeconds: Math.floor(clock.now() / 1_000),
      modelId: call.modelId,
      wantsUsage: call.wantsUsage,
      framing: call.framing,
    };
    const strict = model.strict === true;
    const { images: codec } = dialect;
    const image = codec !== undefined && isImage(call) ? imageRequest() : undefined;
    if (codec !== undefined && image !== undefined) {
      return translatedImage({ request: image, dialect, codec, target, head, strict });
    }
    const asked = request();
    const hidesReasoning = asked.reasoning?.includeThoughts !== true;
    const way: Translation = {
      call,
      request: asked,
      caller,
      dialect,
      target,
      head: { ...head, hidesReasoning },
      strict,
    };
    if (call.operation !== 'count_tokens') return counted(translated(way));
    return dialect.tokenCounter === undefined
      ? estimatedCount(way)
      : countedUpstream(way, dialect.tokenCounter);
  };
}

/** What `make` gives or throws, made at the first call: a refused body is not parsed again. */
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

function isImage({ operation }: Call): boolean {
  return operation === 'images';
}

function isCount({ operation }: Call): boolean {
  return operation === 'count_tokens';
}

/** @throws GatewayError `too_complex`; `invalid_request`, for what the scan leaves to the parser */
function bodyOf({ body, isTooComplex }: Call): JsonObject {
  if (isTooComplex === true) throw tooComplex(`${maxTranslatedValues} values`);
  const parsed = parsedExactly(body);
  return isJsonObject(parsed) ? parsed : {};
}
