/**
 * Translates one call for channels of other dialects than its own. The request is parsed and read
 * into the common form once, for any number of channels.
 */
import { setImmediate } from 'node:timers/promises';
import type { OperationName } from '../../apis.ts';
import { rawValues } from '../../bytes/json/edit-elements.ts';
import { parseBodyExactly } from '../../bytes/json/scan/body.ts';
import type { Call } from '../../call.ts';
import { maxTranslatedValues, tooComplex } from '../../canonical/complexity.ts';
import { estimateTokens } from '../../canonical/estimate-tokens.ts';
import { capabilitiesOf } from '../../dialects/capabilities.ts';
import type {
  CallerExchange,
  ImageRequest,
  ReplyHead,
  TokenCounter,
  UpstreamTarget,
} from '../../dialects/codec.ts';
import { type Dialect, type DialectCodecs, upstreamPath } from '../../dialects/dialect.ts';
import type { EmbeddingCallerExchange } from '../../dialects/embedding-codec.ts';
import { GatewayError } from '../../errors.ts';
import { isJsonObject, type JsonObject } from '../../json.ts';
import type { Channel } from '../../ports/catalog.ts';
import type { ProtocolCodecs, TokenCountCodec } from '../../protocols/protocol.ts';
import type { Admitted } from '../call-record.ts';
import { withKeptItems } from '../references/reference-edits.ts';
import { estimatedPrompt } from '../settle/estimated-prompt.ts';
import { droppedNote, estimatedNote } from './notes.ts';
import {
  documentIn,
  type Judgement,
  maxBufferedRelayBytes,
  type Prepared,
  type PreparedRequest,
  type WholeReply,
} from './prepared-call.ts';
import { prepareTranslated, type Translation } from './translated.ts';
import { prepareTranslatedEmbeddings } from './translated-embeddings.ts';
import { prepareTranslatedImage } from './translated-image.ts';

interface TranslatedChannel {
  readonly channel: Channel;
  readonly dialect: Dialect;
  readonly upstreamModel: string;
}

export interface CallTranslator {
  /** @throws GatewayError as `Preparer` does */
  prepare(target: TranslatedChannel, client: DialectCodecs): Prepared;
  /** Parses and reads the body in separate turns of the event loop. */
  readInTurns(): Promise<void>;
}

export function callTranslator(admitted: Admitted, server: ProtocolCodecs): CallTranslator {
  const readers = readersOf(admitted, server);
  const { form, prepare } = codecOf(translators[admitted.call.operation.name]);
  return {
    prepare: (target, client) =>
      prepare(translationInput(admitted, target, { client, server, readers })),
    readInTurns: () => readInTurns(readers, form),
  };
}

interface TranslationInput {
  readonly admitted: Admitted;
  readonly readers: RequestReaders;
  readonly dialect: Dialect;
  readonly client: DialectCodecs;
  readonly server: ProtocolCodecs;
  readonly target: UpstreamTarget;
  readonly head: ReplyHead;
}

/** The request in the common form, read at the first use. */
interface RequestReaders {
  readonly parsed: () => JsonObject;
  readonly content: () => CallerExchange;
  readonly images: () => ImageRequest;
  readonly embeddings: () => EmbeddingCallerExchange;
}

function readersOf(
  { call, route: { protocol }, references, received }: Admitted,
  server: ProtocolCodecs,
): RequestReaders {
  const parsed = memoized(() => {
    const body = parsedBody(call);
    return references === undefined ? body : withKeptItems(body, references);
  });
  return {
    parsed,
    content: memoized(() =>
      codecOf(server.content).begin(parsed(), {
        streamed: call.framing !== 'json',
        session: protocol.sessionOf?.(call, received.request.headers),
        rawJson: rawValues(call.tape),
      }),
    ),
    images: memoized(() => codecOf(server.images)(parsed())),
    embeddings: memoized(() => codecOf(server.embeddings).begin(parsed())),
  };
}

async function readInTurns({ parsed, ...readers }: RequestReaders, form: Form): Promise<void> {
  for (const step of [parsed, readers[form]]) {
    await setImmediate();
    // It throws again when the call is prepared.
    if ('error' in resultOf<unknown>(step)) return;
  }
  await setImmediate();
}

function translationInput(
  admitted: Admitted,
  { channel, dialect, upstreamModel }: TranslatedChannel,
  codecs: Pick<TranslationInput, 'client' | 'server' | 'readers'>,
): TranslationInput {
  const { call, model, hold, received } = admitted;
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
  return { admitted, dialect, target, head, ...codecs };
}

type Form = Exclude<keyof RequestReaders, 'parsed'>;

interface Translator {
  /** What the request is read into. */
  readonly form: Form;
  prepare(input: TranslationInput): Prepared;
}

/** An operation that is missing is relayed only. */
const translators: Readonly<Partial<Record<OperationName, Translator>>> = {
  content: { form: 'content', prepare: (input) => prepareTranslated(translationOf(input)) },
  images: { form: 'images', prepare: prepareImage },
  embed: { form: 'embeddings', prepare: prepareEmbeddings },
  count_tokens: { form: 'content', prepare: prepareCount },
  compact: {
    form: 'content',
    prepare: () => {
      throw new GatewayError(
        'not_portable',
        "This model can't compact conversations, because its provider has no Responses API. " +
          'Use a model whose provider has one.',
      );
    },
  },
};

function prepareImage(input: TranslationInput): Prepared {
  const { admitted, readers, dialect, client, target, head } = input;
  return prepareTranslatedImage({
    request: readers.images(),
    dialect,
    codec: codecOf(client.images),
    target,
    head,
    strict: admitted.model.strict === true,
  });
}

function prepareEmbeddings(input: TranslationInput): Prepared {
  const { admitted, readers, dialect, client, target, head } = input;
  return prepareTranslatedEmbeddings({
    call: admitted.call,
    model: admitted.model,
    caller: readers.embeddings(),
    dialect,
    codec: codecOf(client.embeddings),
    target,
    head,
    maxPieces: admitted.received.settings.maxEmbeddingPieces,
  });
}

function prepareCount(input: TranslationInput): Prepared {
  const { tokenCounter } = input.client;
  const translation = translationOf(input);
  const codec = codecOf(input.server.countTokens);
  return tokenCounter === undefined
    ? estimatedCount(translation, codec)
    : prepareUpstreamCount(translation, tokenCounter, codec);
}

function translationOf(input: TranslationInput): Translation {
  const { admitted, readers, dialect, client, target, head } = input;
  const caller = readers.content();
  const hidesReasoning = caller.request.reasoning?.includeThoughts !== true;
  return {
    call: admitted.call,
    caller,
    dialect,
    client,
    target,
    head: { ...head, hidesReasoning, needsReasoningBack: target.capabilities.reasoningHistory },
    strict: admitted.model.strict === true,
  };
}

/** Returns the codec, which exists for every channel in a pool of the protocol. */
function codecOf<T>(codec: T | undefined): T {
  if (codec !== undefined) return codec;
  throw new GatewayError('not_implemented', "This call can't be translated for this provider.");
}

/** Remembers a thrown error too, so that a refused body is not parsed again. */
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

function parsedBody({ body, isTooComplex }: Call): JsonObject {
  if (isTooComplex === true) throw tooComplex(`${maxTranslatedValues} values`);
  const parsed = parseBodyExactly(body);
  return isJsonObject(parsed) ? parsed : {};
}

function prepareUpstreamCount(
  translation: Translation,
  counter: TokenCounter,
  codec: TokenCountCodec,
): PreparedRequest {
  const { call, caller, dialect, target } = translation;
  const { text, dropped } = counter.body(caller.request, target);
  return {
    dialect,
    streamContentType: dialect.streams.contentType,
    path: upstreamPath(dialect, call, target.upstreamModel),
    framing: 'json',
    body: [Buffer.from(text)],
    prompt: undefined,
    // A strict model refuses such members in the call itself. They do not change the count.
    notes: droppedNote(dropped, false, caller.unasked),
    maxBufferedBytes: maxBufferedRelayBytes,
    canTapDocument: false,
    tap: undefined,
    judge: (bytes) => judge(bytes, translation, counter, codec),
    replyToRefusal: () => undefined,
  };
}

function judge(
  bytes: Uint8Array,
  { dialect }: Translation,
  { read }: TokenCounter,
  codec: TokenCountCodec,
): Judgement {
  const found = documentIn(bytes, dialect);
  if (found.kind !== 'document') return found;
  const count = read(found.reply);
  if (count === undefined) return { kind: 'bad', reason: 'upstream_protocol_error' };
  return { kind: 'whole', bytes: Buffer.from(codec.write(count)), usage: undefined };
}

function estimatedCount({ caller }: Translation, codec: TokenCountCodec): WholeReply {
  return {
    kind: 'whole',
    bytes: Buffer.from(codec.write(estimateTokens(caller.request))),
    usage: undefined,
    notes: estimatedNote(codec.member),
  };
}
