/** The AI SDK with any provider: `generateText` and `streamText`, and their loops of tools. */
import type * as AiSdk from 'ai7';
import { z } from 'zod';
import {
  type Answer,
  type AppDocument,
  type AppTool,
  type Client,
  instructions,
  maxRounds,
  type Question,
  type Target,
} from './client.ts';

const place = z.object({ city: z.string() });

/** What a call needs that is the provider's own. */
interface Wanted extends Pick<Question, 'serverTool' | 'fallback'> {
  readonly reasons: boolean;
}

/** The provider, the model and the options of a call. */
export type Settings = (
  target: Target,
  wanted: Wanted,
) => {
  readonly model: AiSdk.LanguageModel;
  readonly maxRetries: number;
  /** The tools that the provider runs. */
  readonly tools?: AiSdk.ToolSet;
  readonly providerOptions: NonNullable<
    Parameters<typeof AiSdk.generateText>[0]['providerOptions']
  >;
};

/** One major version of the AI SDK. */
export interface AiSdkVersion {
  readonly major: number;
  readonly sdk: typeof AiSdk;
}

/** Loads a major version. The versions differ in details of their types that are not used here. */
export async function aiSdk(major: number): Promise<AiSdkVersion> {
  return { major, sdk: await import(`ai${major}`) };
}

/** Both ways of one major version. `suffix` names the settings. */
export function aiSdkClients(
  version: AiSdkVersion,
  settings: Settings,
  suffix: string,
): readonly Client[] {
  return [wholeClient(version, settings), streamClient(version, settings)].map(
    ({ name, ...client }) => ({ ...client, name: `ai ${version.major} ${name}${suffix}` }),
  );
}

function wholeClient(version: AiSdkVersion, settings: Settings): Client {
  const { sdk } = version;
  return {
    name: 'generateText',
    streams: false,
    ask: async (target, question) => {
      const { structured } = question;
      const result = await sdk.generateText({
        ...settings(target, { ...question, reasons: false }),
        ...optionsOf(version, question),
        ...(structured === true ? placeOutput(version) : {}),
      });
      if (structured !== true) return answerOf(result);
      const parsed = Reflect.get(result, version.major === 5 ? 'experimental_output' : 'output');
      return answerOf(result, parsed);
    },
    converse: (target, wanted) =>
      conversation(wanted.prompts, async (messages) => {
        // Version 6 has the messages of all steps in `response`, version 7 those of the last one.
        const result = await sdk.generateText({
          ...inConversation(version, messages, wanted.tools, settings(target, wanted)),
        });
        return { text: result.text, messages: result.responseMessages ?? result.response.messages };
      }),
  };
}

function streamClient(version: AiSdkVersion, settings: Settings): Client {
  const { sdk } = version;
  return {
    name: 'streamText',
    streams: true,
    ask: async (target, question) => {
      const { structured, onText } = question;
      const result = sdk.streamText({
        ...settings(target, { ...question, reasons: false }),
        ...optionsOf(version, question),
        ...(structured === true ? placeOutput(version) : {}),
        onError: () => {},
      });
      await consume(result.fullStream, onText);
      const [text, finishReason, usage, sources] = await Promise.all([
        result.text,
        result.finishReason,
        result.usage,
        result.sources,
      ]);
      const answer = { text, finishReason, usage, sources };
      if (structured !== true) return answerOf(answer);
      // Version 5 parses only the output of whole answers.
      const parsed = version.major === 5 ? JSON.parse(text) : await result.output;
      return answerOf(answer, parsed);
    },
    converse: (target, wanted) =>
      conversation(wanted.prompts, async (messages) => {
        const result = sdk.streamText({
          ...inConversation(version, messages, wanted.tools, settings(target, wanted)),
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

function optionsOf({ major }: AiSdkVersion, { prompt, imageUrl, ...question }: Question) {
  const { document, stop, cached, signal } = question;
  const parts: Exclude<AiSdk.UserContent, string> = [{ type: 'text', text: prompt }];
  if (imageUrl !== undefined) parts.push({ type: 'image', image: imageUrl });
  if (document !== undefined) parts.push(filePart(document));
  const system: AiSdk.SystemModelMessage = {
    role: 'system',
    content: instructions,
    providerOptions: { anthropic: { cacheControl: { type: 'ephemeral' } } },
  };
  const messages: AiSdk.ModelMessage[] = [{ role: 'user', content: parts }];
  if (cached === true && major < 7) messages.unshift(system);
  return {
    messages,
    // Version 7 takes instructions only here.
    ...(cached === true && major === 7 ? { instructions: system } : {}),
    ...(stop === undefined ? {} : { stopSequences: [stop] }),
    ...(signal === undefined ? {} : { abortSignal: signal }),
  };
}

function filePart({ form, data, isCited }: AppDocument): AiSdk.FilePart {
  const files = {
    base64: { data, mediaType: 'application/pdf' },
    url: { data: new URL(data, 'https://app.example'), mediaType: 'application/pdf' },
    text: { data: Buffer.from(data), mediaType: 'text/plain' },
  };
  return {
    type: 'file',
    ...files[form],
    ...(isCited === true
      ? { providerOptions: { anthropic: { citations: { enabled: true } } } }
      : {}),
  };
}

/** The option for structured output, which had another name in version 5. */
function placeOutput({ major, sdk }: AiSdkVersion) {
  const output = sdk.Output.object({ schema: place });
  return major === 5 ? { experimental_output: output } : { output };
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
    messages.push({ role: 'user', content: prompt });
    const answer = await send(messages);
    messages.push(...answer.messages);
    answers.push(answer.text);
  }
  return answers;
}

function inConversation(
  version: AiSdkVersion,
  messages: AiSdk.ModelMessage[],
  tools: readonly AppTool[],
  settings: ReturnType<Settings>,
) {
  return {
    ...settings,
    messages,
    instructions,
    // Version 6 has this name for it.
    system: instructions,
    tools: { ...settings.tools, ...toolSet(version, tools) },
    stopWhen: version.sdk.stepCountIs(maxRounds),
  };
}

function toolSet({ major, sdk }: AiSdkVersion, tools: readonly AppTool[]): AiSdk.ToolSet {
  return Object.fromEntries(
    tools.map((tool) => [
      tool.name,
      sdk.tool({
        inputSchema: z.object({ [tool.parameter]: z.string() }),
        execute: (input) => tool.run(String(input[tool.parameter])),
        // Version 5 gives the output itself.
        toModelOutput: (given) => modelOutput(major, major === 5 ? given : given.output),
      }),
    ]),
  );
}

function modelOutput(major: number, output: unknown) {
  const { png }: { readonly png?: string } = Object(output);
  if (png === undefined) return { type: 'text' as const, value: String(output) };
  const image = { type: 'image-data' as const, data: png, mediaType: 'image/png' };
  // The name of that part in version 5.
  if (major === 5) Reflect.set(image, 'type', 'media');
  return { type: 'content' as const, value: [image] };
}

function answerOf(
  {
    text,
    finishReason,
    usage,
    sources,
  }: {
    readonly text: string;
    readonly finishReason: string;
    readonly usage: Pick<AiSdk.LanguageModelUsage, 'inputTokens' | 'outputTokens'>;
    readonly sources: readonly Source[];
  },
  parsed?: unknown,
): Answer {
  return {
    text,
    inputTokens: usage.inputTokens,
    outputTokens: usage.outputTokens,
    cited: sources.map(citedBy),
    parsed,
    unfinished: finishReason === 'stop' ? undefined : finishReason,
    // A refusal ends for this reason, mostly with a text that gives the model's own.
    refusal: finishReason === 'content-filter' ? text || finishReason : undefined,
  };
}

type Source = Awaited<ReturnType<typeof AiSdk.generateText>>['sources'][number];

function citedBy(source: Source): string {
  if (source.sourceType === 'url') return source.url;
  return String(source.providerMetadata?.anthropic?.citedText);
}
