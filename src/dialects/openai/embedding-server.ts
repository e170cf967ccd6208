/** Reads embedding requests of OpenAI's callers, and writes their replies. */
import type { EmbeddingInput, EmbeddingSetting } from '../../canonical/embeddings.ts';
import { jsonText } from '../../canonical/raw-json.ts';
import { base64Of, numberList, type Vector } from '../../canonical/vectors.ts';
import { type JsonObject, type JsonValue, numberOf } from '../../json.ts';
import type { EmbeddingReplyWriter, EmbeddingServerCodec } from '../embedding-codec.ts';
import { integerIn, isList, objectIn, presentMember, refuse, textIn } from '../read-members.ts';

export const openaiEmbeddingServer: EmbeddingServerCodec = {
  begin: (body) => {
    const settings = readSettings(body);
    const isBase64 = textIn(body, 'encoding_format', '') === 'base64';
    return {
      request: {
        inputs: readInputs(body),
        inputMember: 'input',
        dimensions: integerIn(body, 'dimensions', ''),
        task: settings.find(({ name }) => name === 'task_type'),
        title: settings.find(({ name }) => name === 'title'),
        dropped: unknownMembers(body),
      },
      keepsText: !isBase64,
      unitLengthMember: 'reply.data.embedding',
      estimateMember: 'usage',
      writer: writerOf(isBase64 ? base64String : numberList),
    };
  },
};

function readInputs(body: JsonObject): readonly EmbeddingInput[] {
  const input = presentMember(body, 'input');
  if (!isList(input)) return [readInput(input, 'input')];
  // One list of ids is one input.
  if (numberOf(input[0]) !== undefined) return [readInput(input, 'input')];
  return input.map((one, index) => readInput(one, `input[${index}]`));
}

function readInput(input: JsonValue | undefined, at: string): EmbeddingInput {
  if (typeof input === 'string') return { kind: 'text', text: input };
  if (!isList(input)) return refuse(at, 'must be a string or a list of token ids.');
  const ids = input.map((id) => {
    const number = numberOf(id);
    if (number !== undefined && Number.isSafeInteger(number)) return number;
    return refuse(at, 'must be a list of token ids, which are whole numbers.');
  });
  return { kind: 'tokens', ids };
}

/** Google's own settings, at the paths where callers of Google's compatible endpoint put them. */
function readSettings(body: JsonObject): readonly (EmbeddingSetting & { readonly name: string })[] {
  const extra = objectIn(body, 'extra_body', '') ?? {};
  const sources: readonly (readonly [JsonObject, string])[] = [
    [objectIn(extra, 'google', 'extra_body') ?? {}, 'extra_body.google'],
    [objectIn(body, 'google', '') ?? {}, 'google'],
    [body, ''],
  ];
  return sources.flatMap(([source, path]) =>
    ['task_type', 'title'].flatMap((name) => {
      const text = textIn(source, name, path);
      const at = path === '' ? name : `${path}.${name}`;
      return text === undefined ? [] : [{ name, text, at }];
    }),
  );
}

/**
 * Members that are translated or have no effect: `user` does not change the vectors, and the
 * gateway itself handles the model and the encoding.
 */
const knownMembers: ReadonlySet<string> = new Set([
  'model',
  'input',
  'dimensions',
  'encoding_format',
  'user',
  'task_type',
  'title',
]);

function unknownMembers(body: JsonObject): readonly string[] {
  return [
    ...namesIn(body, '').filter(
      (name) => !knownMembers.has(name) && name !== 'extra_body' && name !== 'google',
    ),
    ...unknownSettings(body),
  ];
}

function unknownSettings(body: JsonObject): readonly string[] {
  const extra = objectIn(body, 'extra_body', '') ?? {};
  const isSetting = (name: string): boolean => /\.(?:task_type|title)$/.test(name);
  return [
    ...namesIn(extra, 'extra_body.').filter((name) => name !== 'extra_body.google'),
    ...namesIn(objectIn(extra, 'google', 'extra_body') ?? {}, 'extra_body.google.'),
    ...namesIn(objectIn(body, 'google', '') ?? {}, 'google.'),
  ].filter((name) => !isSetting(name));
}

function namesIn(source: JsonObject, before: string): readonly string[] {
  return Object.keys(source)
    .filter((name) => source[name] !== null)
    .map((name) => `${before}${name}`);
}

function base64String(vector: Vector): string {
  return `"${base64Of(vector)}"`;
}

function writerOf(written: (vector: Vector) => string): EmbeddingReplyWriter {
  return {
    head: () => '{"object":"list","data":[',
    vector: (vector, index) =>
      `${index === 0 ? '' : ','}{"object":"embedding","index":${index},` +
      `"embedding":${written(vector)}}`,
    tail: (modelId, inputTokens) => {
      const usage =
        inputTokens === undefined
          ? undefined
          : { prompt_tokens: inputTokens, total_tokens: inputTokens };
      return `],${jsonText({ model: modelId, usage }).slice(1)}`;
    },
  };
}
