/** The `@anthropic-ai/sdk` package: whole messages, plain streams, the helpers, and beta calls. */
import type { default as AnthropicSdk, ClientOptions } from '@anthropic-ai/sdk';
import type { BetaMessageParam } from '@anthropic-ai/sdk/resources/beta/messages/messages';
import type { Messages } from '@anthropic-ai/sdk/resources/messages/messages';
import { createStreamed, streamHelper } from './anthropic-events.ts';
import {
  answerOf,
  conversationRequest,
  customTool,
  questionRequest,
  type Request,
  requestFor,
  resultOf,
  serverTools,
  textOf,
  thinkingFor,
  toolResults,
  userMessage,
} from './anthropic-requests.ts';
import { type Client, instructions, maxRounds, rootOf, type Target } from './client.ts';
import { type SdkApi, sdkClients, type Way, withParsed } from './sdk.ts';

const ways: readonly Way<AnthropicSdk, Request, Messages.Message>[] = [
  {
    name: 'create',
    streams: false,
    send: (sdk, request, { signal }) => sdk.messages.create(request, { signal }),
  },
  { name: 'create with stream', streams: true, send: createStreamed },
  { name: '.stream()', streams: true, send: streamHelper },
];

/** Loads a version. The older ones differ in details of their types that are not used here. */
export async function anthropicSdk(
  packageName: string,
): Promise<new (options: ClientOptions) => AnthropicSdk> {
  const { default: Anthropic }: { readonly default: new (options: ClientOptions) => AnthropicSdk } =
    await import(packageName);
  return Anthropic;
}

/** The ways of one version. `packageName` is its alias in package.json. */
export async function anthropicClients(
  packageName: string,
  version: string,
): Promise<readonly Client[]> {
  const Anthropic = await anthropicSdk(packageName);
  const sdkFor = ({ baseURL, apiKey, maxRetries = 0 }: Target): AnthropicSdk =>
    new Anthropic({ baseURL: rootOf(baseURL), apiKey, maxRetries });
  const api: SdkApi<AnthropicSdk, Request, Messages.MessageParam, Messages.Message> = {
    sdkFor,
    questionRequest,
    conversationRequest,
    userMessage,
    said: ({ content }) => [{ role: 'assistant', content }],
    results: (message, tools) => {
      if (message.stop_reason !== 'tool_use') return [];
      const content = message.content.flatMap((block) => toolResults(block, tools));
      return [{ role: 'user', content }];
    },
    answerOf,
  };
  const name = `anthropic ${version}`;
  return [...sdkClients(name, api, ways), toolRunnerClient(`${name} beta`, sdkFor)];
}

/** Beta calls, whose path has a query in older versions, and the loop that they bring. */
function toolRunnerClient(name: string, sdkFor: (target: Target) => AnthropicSdk): Client {
  return {
    name,
    streams: false,
    // Its first versions give the paused turn as the answer.
    resumesTurns: !name.includes(' 0.71'),
    ask: async (target, question) => {
      const message = await sdkFor(target).beta.messages.create(
        {
          ...questionRequest(target.model, question),
          betas: ['interleaved-thinking-2025-05-14'],
        },
        { signal: question.signal },
      );
      return withParsed(answerOf(message), question);
    },
    converse: async (target, { prompts, tools, reasons, serverTool }) => {
      const sdk = sdkFor(target);
      let messages: BetaMessageParam[] = [];
      const answers: string[] = [];
      for (const prompt of prompts) {
        const runner = sdk.beta.messages.toolRunner({
          ...requestFor(target.model, []),
          messages: [...messages, userMessage(prompt)],
          system: instructions,
          ...thinkingFor(reasons),
          tools: [
            ...serverTools(serverTool),
            ...tools.map((tool) => ({
              ...customTool(tool),
              type: 'custom' as const,
              parse: (input: unknown) => input,
              run: (input: unknown) => resultOf(tool, input),
            })),
          ],
          max_iterations: maxRounds,
        });
        const last = await runner;
        messages = [...runner.params.messages];
        if (messages.at(-1)?.role !== 'assistant') {
          messages.push({ role: 'assistant', content: last.content });
        }
        answers.push(textOf(last));
      }
      return answers;
    },
  };
}
