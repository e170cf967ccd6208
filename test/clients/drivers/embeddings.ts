/** Clients of embeddings, reduced to the vectors that an app gets for its texts. */

import type * as Genai from '@google/genai';
import { GoogleGenerativeAI } from '@google/generative-ai';
import * as langchainGoogle from '@langchain/google-genai';
import * as langchainOpenai from '@langchain/openai';
import type * as AiSdkGoogle from 'ai-sdk-google4';
import type * as AiSdkOpenai from 'ai-sdk-openai4';
import type * as AiSdk from 'ai7';
import type { ClientOptions, default as OpenAISdk } from 'openai';

/** Where a client sends its calls. */
export interface EmbeddingTarget {
  /** Without a path. */
  readonly origin: string;
  readonly apiKey: string;
  readonly model: string;
}

/** A client, with the settings that it is tested with. */
export interface EmbeddingClient {
  readonly name: string;
  readonly api: 'openai' | 'gemini';
  /** Whether it returns empty vectors in place of an error. */
  readonly hidesFailures?: true;
  /** The vectors of the texts, in their order. */
  embed(
    target: EmbeddingTarget,
    texts: readonly string[],
    dimensions?: number,
  ): Promise<readonly (readonly number[])[]>;
}

/** Every client. */
export const embeddingClients: readonly EmbeddingClient[] = [
  ...(await openaiClients('openai4', 4)),
  ...(await openaiClients('openai5', 5)),
  ...(await openaiClients('openai6', 6)),
  ...(await openaiClients('openai', 7)),
  ...(await aiSdkClients(5, 'ai-sdk-openai2', 'ai-sdk-google2')),
  ...(await aiSdkClients(6, 'ai-sdk-openai3', 'ai-sdk-google3')),
  ...(await aiSdkClients(7, 'ai-sdk-openai4', 'ai-sdk-google4')),
  ...langchainClients(0, await langchain0()),
  ...langchainClients(1, { ...langchainOpenai, ...langchainGoogle }),
  ...(await genaiClients('genai1', 1)),
  ...(await genaiClients('genai2', 2)),
  ...(await genaiClients('@google/genai', 3)),
  ...generativeAiClients(),
];

/** By default they request Base64 and decode it. A format that the app requests is passed on. */
async function openaiClients(
  packageName: string,
  major: number,
): Promise<readonly EmbeddingClient[]> {
  const { default: OpenAI }: { readonly default: new (options: ClientOptions) => OpenAISdk } =
    await import(packageName);
  const formats = [undefined, 'float', 'base64'] as const;
  return formats.map((format) => ({
    name: `openai ${major} ${format ?? 'default'}`,
    api: 'openai',
    embed: async ({ origin, apiKey, model }, input, dimensions) => {
      const sdk = new OpenAI({ baseURL: `${origin}/v1`, apiKey, maxRetries: 0 });
      const { data } = await sdk.embeddings.create({
        model,
        input: [...input],
        ...(format === undefined ? {} : { encoding_format: format }),
        ...(dimensions === undefined ? {} : { dimensions }),
      });
      return data.map(({ embedding }) => numbersOf(embedding));
    },
  }));
}

/** The package types a vector as numbers, although it is text if the app requested Base64. */
function numbersOf(embedding: unknown): readonly number[] {
  if (typeof embedding !== 'string') return Array.from(Object(embedding), Number);
  const bytes = Uint8Array.from(Buffer.from(embedding, 'base64'));
  return [...new Float32Array(bytes.buffer)];
}

/** `embed` for one text, `embedMany` for several, with both providers. */
async function aiSdkClients(
  major: number,
  openaiPackage: string,
  googlePackage: string,
): Promise<readonly EmbeddingClient[]> {
  // The versions differ in details of their types that are not used here.
  const { embed, embedMany }: typeof AiSdk = await import(`ai${major}`);
  const { createOpenAI }: typeof AiSdkOpenai = await import(openaiPackage);
  const { createGoogleGenerativeAI }: typeof AiSdkGoogle = await import(googlePackage);
  type Run = (
    model: AiSdk.EmbeddingModel,
    texts: readonly string[],
    options: Parameters<typeof embedMany>[0]['providerOptions'],
  ) => Promise<readonly (readonly number[])[]>;
  const many: Run = async (model, values, providerOptions = {}) => {
    const options = { model, values: [...values], maxRetries: 0, providerOptions };
    return (await embedMany(options)).embeddings;
  };
  const one: Run = async (model, values, providerOptions = {}) => {
    const vectors: (readonly number[])[] = [];
    for (const value of values) {
      const options = { model, value, maxRetries: 0, providerOptions };
      vectors.push((await embed(options)).embedding);
    }
    return vectors;
  };
  const ways: readonly (readonly [string, Run])[] = [
    ['embedMany', many],
    ['embed', one],
  ];
  return ways.flatMap(([way, run]): readonly EmbeddingClient[] => [
    {
      name: `ai ${major} ${way} openai`,
      api: 'openai',
      embed: ({ origin, apiKey, model }, texts, dimensions) => {
        const provider = createOpenAI({ baseURL: `${origin}/v1`, apiKey });
        return run(
          provider.textEmbeddingModel(model),
          texts,
          dimensions === undefined ? {} : { openai: { dimensions } },
        );
      },
    },
    {
      name: `ai ${major} ${way} google`,
      api: 'gemini',
      embed: ({ origin, apiKey, model }, texts, dimensions) => {
        const provider = createGoogleGenerativeAI({ baseURL: `${origin}/v1beta`, apiKey });
        return run(
          provider.textEmbeddingModel(model),
          texts,
          dimensions === undefined ? {} : { google: { outputDimensionality: dimensions } },
        );
      },
    },
  ]);
}

type LangchainVersion = Pick<typeof langchainOpenai, 'OpenAIEmbeddings'> &
  Pick<typeof langchainGoogle, 'GoogleGenerativeAIEmbeddings'>;

/** The types of version 0 differ in details that are not used here. */
async function langchain0(): Promise<LangchainVersion> {
  const path = '../langchain0/index.ts';
  return await import(path);
}

/** `embedDocuments`. Google's class has no setting for the dimensions. */
function langchainClients(
  major: number,
  { OpenAIEmbeddings, GoogleGenerativeAIEmbeddings }: LangchainVersion,
): readonly EmbeddingClient[] {
  return [
    {
      name: `langchain ${major} openai`,
      api: 'openai',
      embed: ({ origin, apiKey, model }, texts, dimensions) =>
        new OpenAIEmbeddings({
          model,
          apiKey,
          maxRetries: 0,
          configuration: { baseURL: `${origin}/v1` },
          ...(dimensions === undefined ? {} : { dimensions }),
        }).embedDocuments([...texts]),
    },
    {
      name: `langchain ${major} google`,
      api: 'gemini',
      hidesFailures: true,
      embed: ({ origin, apiKey, model }, texts) =>
        new GoogleGenerativeAIEmbeddings({
          model,
          apiKey,
          maxRetries: 0,
          baseUrl: origin,
        }).embedDocuments([...texts]),
    },
  ];
}

/** `models.embedContent`, which asks for a batch. */
async function genaiClients(
  packageName: string,
  major: number,
): Promise<readonly EmbeddingClient[]> {
  const { GoogleGenAI }: typeof Genai = await import(packageName);
  return [
    {
      name: `genai ${major}`,
      api: 'gemini',
      embed: async ({ origin, apiKey, model }, texts, dimensions) => {
        const sdk = new GoogleGenAI({ apiKey, httpOptions: { baseUrl: origin } });
        const { embeddings = [] } = await sdk.models.embedContent({
          model,
          contents: [...texts],
          config: dimensions === undefined ? {} : { outputDimensionality: dimensions },
        });
        return embeddings.map(({ values = [] }) => values);
      },
    },
  ];
}

function generativeAiClients(): readonly EmbeddingClient[] {
  const modelOf = ({ origin, apiKey, model }: EmbeddingTarget) =>
    new GoogleGenerativeAI(apiKey).getGenerativeModel({ model }, { baseUrl: origin });
  const contentOf = (text: string) => ({ role: 'user', parts: [{ text }] });
  return [
    {
      name: 'generative-ai embedContent',
      api: 'gemini',
      embed: async (target, texts) => {
        const vectors: (readonly number[])[] = [];
        for (const text of texts) {
          vectors.push((await modelOf(target).embedContent(text)).embedding.values);
        }
        return vectors;
      },
    },
    {
      name: 'generative-ai batchEmbedContents',
      api: 'gemini',
      embed: async (target, texts) => {
        const requests = texts.map((text) => ({ content: contentOf(text) }));
        const { embeddings } = await modelOf(target).batchEmbedContents({ requests });
        return embeddings.map(({ values }) => values);
      },
    },
  ];
}
