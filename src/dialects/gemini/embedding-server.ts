/** Reads native (Gemini) embedding requests, one or a batch, and writes their replies. */

import type { EmbeddingInput, EmbeddingSetting } from '../../canonical/embeddings.ts';
import { jsonText } from '../../canonical/raw-json.ts';
import { numberList } from '../../canonical/vectors.ts';
import type { GatewayError } from '../../errors.ts';
import type { JsonObject, JsonValue } from '../../json.ts';
import type { EmbeddingReplyWriter, EmbeddingServerCodec } from '../embedding-codec.ts';
import { notPortable } from '../not-portable.ts';
import { integerField, listField, objectField, textField, unknownFields } from './server/fields.ts';

export const geminiBatchEmbeddingServer: EmbeddingServerCodec = {
  begin: (body) => {
    const requests = listField(body, 'requests', '').map((value, index) =>
      readRequest(value, `requests[${index}].`),
    );
    return exchangeOf(requests, {
      inputMember: 'requests',
      at: 'requests.',
      unknown: unknownFields(body, ['model', 'requests']).map(({ written }) => written),
      writer: writerOf('{"embeddings":[', ']'),
    });
  },
};

export const geminiEmbeddingServer: EmbeddingServerCodec = {
  begin: (body) =>
    exchangeOf([readRequest(body, '')], {
      inputMember: 'content',
      at: '',
      unknown: [],
      writer: writerOf('{"embedding":', ''),
    }),
};

interface ReadRequest {
  readonly at: string;
  readonly input: EmbeddingInput;
  readonly dimensions: number | undefined;
  readonly taskType: string | undefined;
  readonly title: string | undefined;
  readonly unknown: readonly string[];
  readonly dropped: readonly string[];
}

function readRequest(value: JsonValue, at: string): ReadRequest {
  const { text, isJoined } = readText(objectField(value, 'content', at.slice(0, -1)), at);
  const path = at.slice(0, -1);
  return {
    at,
    input: { kind: 'text', text },
    dimensions: integerField(value, 'outputDimensionality', path),
    taskType: textField(value, 'taskType', path),
    title: textField(value, 'title', path),
    unknown: unknownFields(value, knownMembers).map(({ written }) => written),
    dropped: isJoined ? [`${at}content`] : [],
  };
}

const knownMembers: readonly string[] = [
  'model',
  'content',
  'outputDimensionality',
  'taskType',
  'title',
];

/** All parts of a content are one input. Other providers take a single text for an input. */
function readText(
  content: JsonObject | undefined,
  at: string,
): { readonly text: string; readonly isJoined: boolean } {
  const texts = listField(content, 'parts', `${at}content`).map((part, index) => {
    const text = textField(part, 'text', `${at}content.parts[${index}]`);
    if (text !== undefined) return text;
    throw unsendable(`${at}content.parts[${index}]`, 'This model takes texts only.');
  });
  const text = texts.join('\n');
  if (texts.every((one) => one === '')) {
    throw unsendable(`${at}content`, 'This model takes no empty text.');
  }
  return { text, isJoined: texts.length > 1 };
}

interface ExchangeParts {
  readonly inputMember: string;
  /** The path before the names of members that all requests share. */
  readonly at: string;
  readonly unknown: readonly string[];
  readonly writer: EmbeddingReplyWriter;
}

function exchangeOf(
  requests: readonly ReadRequest[],
  { inputMember, at, unknown, writer }: ExchangeParts,
): ReturnType<EmbeddingServerCodec['begin']> {
  const dropped = new Set(unknown);
  for (const request of requests) {
    for (const name of request.unknown) dropped.add(`${at}${name}`);
    for (const path of request.dropped) dropped.add(path);
  }
  return {
    request: {
      inputs: requests.map(({ input }) => input),
      inputMember,
      dimensions: commonDimensions(requests),
      task: firstSetting(requests, 'taskType', at),
      title: firstSetting(requests, 'title', at),
      dropped: [...dropped],
    },
    keepsText: true,
    unitLengthMember: undefined,
    estimateMember: undefined,
    writer,
  };
}

/** Only Google's models take these settings, which are listed once for all requests. */
function firstSetting(
  requests: readonly ReadRequest[],
  name: 'taskType' | 'title',
  at: string,
): EmbeddingSetting | undefined {
  const text = requests.map((request) => request[name]).find((one) => one !== undefined);
  return text === undefined ? undefined : { text, at: `${at}${name}` };
}

/** Other providers take one number of dimensions for the whole call. */
function commonDimensions(requests: readonly ReadRequest[]): number | undefined {
  const [first] = requests;
  const other = requests.find(({ dimensions }) => dimensions !== first?.dimensions);
  if (other === undefined) return first?.dimensions;
  throw unsendable(
    `${other.at}outputDimensionality`,
    'This model makes all vectors of a batch equally long: give all requests the same value.',
  );
}

function unsendable(param: string, sentence: string): GatewayError {
  return notPortable(param, `\`${param}\` can't be sent. ${sentence}`);
}

function writerOf(head: string, end: string): EmbeddingReplyWriter {
  return {
    head: () => head,
    vector: (vector, index) => `${index === 0 ? '' : ','}{"values":${numberList(vector)}}`,
    tail: (_modelId, inputTokens) => {
      if (inputTokens === undefined) return `${end}}`;
      const usageMetadata = {
        promptTokenCount: inputTokens,
        promptTokenDetails: [{ modality: 'TEXT', tokenCount: inputTokens }],
      };
      return `${end},${jsonText({ usageMetadata }).slice(1)}`;
    },
  };
}
