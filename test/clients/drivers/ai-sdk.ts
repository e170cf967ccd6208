/**
 * The AI SDK with `@ai-sdk/openai`, in its default, which refers to earlier items by id, and with
 * `store: false`, which sends them whole.
 */
import type * as OpenAIProvider from 'ai-sdk-openai4';
import type * as AiSdk from 'ai7';
import { z } from 'zod';
import {
  type Answer,
  type AppTool,
  type Client,
  instructions,
  maxRounds,
  type Target,
} from './client.ts';

// It warns of deprecated parts, which both versions take, and models that it does not know.
Reflect.set(globalThis, 'AI_SDK_LOG_WARNINGS', false);

const place = z.object({ city: z.string() });
const stores = [
  ['', {}],
  [', store: false', { store: false }],
] as const;

/** Both ways of one major version. The names are aliases in package.json. */
export async function aiSdkClients(
  major: number,
  packageName: string,
  providerName: string,
): Promise<readonly Client[]> {
  // The versions differ in details of their types; what is used here is the same in both.
  const sdk: typeof AiSdk = await import(packageName);
  const { createOpenAI }: typeof OpenAIProvider = await import(providerName);
  return stores.flatMap(([suffix, store]) => {
    const settings: Settings = ({ baseURL, apiKey, model }, reasons) => ({
      model: createOpenAI({ baseURL, apiKey })(model),
      maxRetries: 0,
      providerOptions: {
        openai: {
          ...store,
          // The SDK knows by their names which of OpenAI's models reason, and no other models.
          ...(reasons
            ? { reasoningEffort: 'low', reasoningSummary: 'auto', forceReasoning: true }
            : {}),
        },
      },
    });
    return [wholeClient(sdk, settings), streamClient(sdk, settings)].map(({ name, ...client }) => ({
      ...client,
      name: `ai ${major} ${name}${suffix}`,
    }));
  });
}

type Settings = (
  target: Target,
  reasons: boolean,
) => {
  readonly model: AiSdk.LanguageModel;
  readonly maxRetries: number;
  readonly providerOptions: { readonly openai: Record<string, string | boolean> };
};

function wholeClient(sdk: typeof AiSdk, settings: Settings): Client {
  return {
    name: 'generateText',
    streams: false,
    ask: async (target, { prompt, imageUrl, structured, signal }) => {
      const result = await sdk.generateText({
        ...settings(target, false),
        messages: [userMessage(prompt, imageUrl)],
        ...(signal === undefined ? {} : { abortSignal: signal }),
        ...(structured === true ? { output: sdk.Output.object({ schema: place }) } : {}),
      });
      return answerOf(result, structured === true ? result.output : undefined);
    },
    converse: (target, { prompts, tools, reasons }) =>
      conversation(prompts, async (messages) => {
        // Version 6 has the messages of all steps in `response`, version 7 those of the last one.
        const result = await sdk.generateText({
          ...settings(target, reasons),
          ...inConversation(sdk, messages, tools),
        });
        return { text: result.text, messages: result.responseMessages ?? result.response.messages };
      }),
  };
}

function streamClient(sdk: typeof AiSdk, settings: Settings): Client {
  return {
    name: 'streamText',
    streams: true,
    ask: async (target, { prompt, imageUrl, structured, signal, onText }) => {
      const result = sdk.streamText({
        ...settings(target, false),
        messages: [userMessage(prompt, imageUrl)],
        ...(signal === undefined ? {} : { abortSignal: signal }),
        ...(structured === true ? { output: sdk.Output.object({ schema: place }) } : {}),
        onError: () => {},
      });
      await consume(result.fullStream, onText);
      const [text, finishReason, usage] = await Promise.all([
        result.text,
        result.finishReason,
        result.usage,
      ]);
      const parsed = structured === true ? await result.output : undefined;
      return answerOf({ text, finishReason, usage }, parsed);
    },
    converse: (target, { prompts, tools, reasons }) =>
      conversation(prompts, async (messages) => {
        const result = sdk.streamText({
          ...settings(target, reasons),
          ...inConversation(sdk, messages, tools),
          onError: () => {},
        });
        await consume(result.fullStream);
        const added = await result.responseMessages;
        return {
          text: await result.text,
          messages: added ?? (await result.response).messages,
        };
      }),
  };
}

type Part = { readonly type: string; readonly text?: string; readonly error?: unknown };

/** Reads the stream as apps do that show its parts: an error is a part, an abort too. */
async function consume(parts: AsyncIterable<Part>, onText?: (text: string) => void): Promise<void> {
  for await (const part of parts) {
    if (part.type === 'text-delta') onText?.(part.text ?? '');
    if (part.type === 'error') throw part.error;
    if (part.type === 'abort') throw new DOMException('The stream was aborted.', 'AbortError');
  }
}

async function conversation(
  prompts: readonly string[],
  send: (messages: AiSdk.ModelMessage[]) => Promise<{
    readonly text: string;
    readonly messages: readonly AiSdk.ModelMessage[];
  }>,
): Promise<readonly string[]> {
  const messages: AiSdk.ModelMessage[] = [];
  const answers: string[] = [];
  for (const prompt of prompts) {
    messages.push(userMessage(prompt));
    const answer = await send(messages);
    messages.push(...answer.messages);
    answers.push(answer.text);
  }
  return answers;
}

function inConversation(
  sdk: typeof AiSdk,
  messages: AiSdk.ModelMessage[],
  tools: readonly AppTool[],
) {
  return {
    messages,
    instructions,
    // Version 6 has this name for it.
    system: instructions,
    tools: toolSet(sdk, tools),
    stopWhen: sdk.stepCountIs(maxRounds),
  };
}

function toolSet(sdk: typeof AiSdk, tools: readonly AppTool[]): AiSdk.ToolSet {
  return Object.fromEntries(
    tools.map((tool) => [
      tool.name,
      sdk.tool({
        inputSchema: z.object({ [tool.parameter]: z.string() }),
        execute: (input) => tool.run(String(input[tool.parameter])),
        toModelOutput: ({ output }) =>
          typeof output === 'string'
            ? { type: 'text', value: output }
            : {
                type: 'content',
                value: [{ type: 'image-data', data: output.png, mediaType: 'image/png' }],
              },
      }),
    ]),
  );
}

function userMessage(prompt: string, imageUrl?: string): AiSdk.ModelMessage {
  if (imageUrl === undefined) return { role: 'user', content: prompt };
  return {
    role: 'user',
    content: [
      { type: 'text', text: prompt },
      { type: 'image', image: imageUrl },
    ],
  };
}

function answerOf(
  {
    text,
    finishReason,
    usage,
  }: {
    readonly text: string;
    readonly finishReason: string;
    readonly usage: Pick<AiSdk.LanguageModelUsage, 'inputTokens' | 'outputTokens'>;
  },
  parsed: unknown,
): Answer {
  return {
    text,
    inputTokens: usage.inputTokens,
    outputTokens: usage.outputTokens,
    parsed,
    unfinished: finishReason === 'stop' ? undefined : finishReason,
    // A refusal is a text that ended for this reason.
    refusal: finishReason === 'content-filter' ? text : undefined,
  };
}
