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
import type { ResolvedCapabilities } from '../../dialects/capabilities.ts';
import type { ReplyHead, TokenCounter, UpstreamTarget } from '../../dialects/codec.ts';
import { type Dialect, type DialectCodecs, upstreamPath } from '../../dialects/dialect.ts';
import { GatewayError } from '../../errors.ts';
import { isJsonObject, type JsonObject } from '../../json.ts';
import type { ProtocolCodecs, TokenCountCodec } from '../../protocols/protocol.ts';
import type { Admitted } from '../call-record.ts';
import { withKeptItems } from '../references/reference-edits.ts';
import { estimatedPrompt } from '../settle/estimated-prompt.ts';
import {
  documentIn,
  droppedNote,
  estimatedNote,
  type Judgement,
  maxBufferedRelayBytes,
  type Prepared,
  type PreparedRequest,
  type WholeReply,
} from './prepared-call.ts';
import {
  type ContentTranslation,
  codecOf,
  contentOf,
  prepareTranslated,
  prepareTranslatedImage,
  type RequestReaders,
  type Translation,
} from './translated.ts';
import { prepareTranslatedEmbeddings } from './translated-embeddings.ts';

interface TranslatedChannel {
  readonly dialect: Dialect;
  readonly upstreamModel: string;
  readonly capabilities: ResolvedCapabilities;
}

export interface CallTranslator {
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
  { dialect, upstreamModel, capabilities }: TranslatedChannel,
  { client, server, readers }: Pick<Translation, 'client' | 'server' | 'readers'>,
): Translation {
  const { call, model, hold, received } = admitted;
  const { settings, responseContext } = received;
  const target: UpstreamTarget = {
    upstreamModel,
    capabilities,
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
  return { admitted, readers, dialect, client, server, target, head };
}

type Form = Exclude<keyof RequestReaders, 'parsed'>;

interface Translator {
  /** What the request is read into. */
  readonly form: Form;
  prepare(input: Translation): Prepared;
}

/** An operation that is missing is relayed only. */
const translators: Readonly<Partial<Record<OperationName, Translator>>> = {
  content: { form: 'content', prepare: (input) => prepareTranslated(contentOf(input)) },
  images: { form: 'images', prepare: prepareTranslatedImage },
  embed: { form: 'embeddings', prepare: prepareTranslatedEmbeddings },
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

function prepareCount(input: Translation): Prepared {
  const { tokenCounter } = input.client;
  const translation = contentOf(input);
  const codec = codecOf(input.server.countTokens);
  return tokenCounter === undefined
    ? estimatedCount(translation, codec)
    : prepareUpstreamCount(translation, tokenCounter, codec);
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
  translation: ContentTranslation,
  counter: TokenCounter,
  codec: TokenCountCodec,
): PreparedRequest {
  const { admitted, caller, dialect, target } = translation;
  const { text, dropped } = counter.body(caller.request, target);
  return {
    dialect,
    streamContentType: dialect.streams.contentType,
    path: upstreamPath(dialect, admitted.call, target.upstreamModel),
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
  { dialect }: Pick<Translation, 'dialect'>,
  { read }: TokenCounter,
  codec: TokenCountCodec,
): Judgement {
  const found = documentIn(bytes, dialect);
  if (found.kind !== 'document') return found;
  const count = read(found.reply);
  if (count === undefined) return { kind: 'bad', reason: 'upstream_protocol_error' };
  return { kind: 'whole', bytes: Buffer.from(codec.write(count)), usage: undefined };
}

function estimatedCount({ caller }: ContentTranslation, codec: TokenCountCodec): WholeReply {
  return {
    kind: 'whole',
    bytes: Buffer.from(codec.write(estimateTokens(caller.request))),
    usage: undefined,
    notes: estimatedNote(codec.member),
  };
}
