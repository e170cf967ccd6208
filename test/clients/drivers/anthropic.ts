/** The `@anthropic-ai/sdk` package: whole messages, plain streams, the helpers, and beta calls. */
import type { default as AnthropicSdk, ClientOptions } from '@anthropic-ai/sdk';
import type { BetaMessageParam } from '@anthropic-ai/sdk/resources/beta/messages/messages';
import type { Messages } from '@anthropic-ai/sdk/resources/messages/messages';
import {
  type Answer,
  type AppTool,
  type Client,
  type Conversation,
  instructions,
  maxRounds,
  type Question,
  rootOf,
  type Target,
  thinkingBudget,
} from './client.ts';

type Request = Messages.MessageCreateParamsNonStreaming;
type Send = (
  sdk: AnthropicSdk,
  request: Request,
  options: { readonly signal?: AbortSignal; readonly onText?: (text: string) => void },
) => Promise<Messages.Message>;

const ways: readonly (readonly [name: string, streams: boolean, send: Send])[] = [
  ['create', false, (sdk, request, { signal }) => sdk.messages.create(request, { signal })],
  ['create with stream', true, createStreamed],
  ['.stream()', true, streamHelper],
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
  const clients = ways.map(
    ([way, streams, send]): Client => ({
      name: `anthropic ${version} ${way}`,
      streams,
      ask: async (target, question) => {
        const { structured } = question;
        const request = questionRequest(target.model, question);
        const answer = answerOf(await send(sdkFor(target), request, question));
        return structured === true ? { ...answer, parsed: JSON.parse(answer.text) } : answer;
      },
      converse: (target, conversation) =>
        conversed(conversation, (messages) => {
          const request = conversationRequest(target.model, messages, conversation);
          return send(sdkFor(target), request, {});
        }),
    }),
  );
  return [...clients, toolRunnerClient(`anthropic ${version} beta`, sdkFor)];
}

/** Beta calls, whose path has a query in older versions, and the loop that they bring. */
function toolRunnerClient(name: string, sdkFor: (target: Target) => AnthropicSdk): Client {
  return {
    name,
    streams: false,
    ask: async (target, question) => {
      const message = await sdkFor(target).beta.messages.create(
        {
          ...questionRequest(target.model, question),
          betas: ['interleaved-thinking-2025-05-14'],
        },
        { signal: question.signal },
      );
      const answer = answerOf(message);
      return question.structured === true ? { ...answer, parsed: JSON.parse(answer.text) } : answer;
    },
    converse: async (target, { prompts, tools, reasons }) => {
      const sdk = sdkFor(target);
      let messages: BetaMessageParam[] = [];
      const answers: string[] = [];
      for (const prompt of prompts) {
        const runner = sdk.beta.messages.toolRunner({
          ...requestFor(target.model, []),
          messages: [...messages, userMessage(prompt)],
          system: instructions,
          ...thinkingFor(reasons),
          tools: tools.map((tool) => ({
            ...declaration(tool),
            type: 'custom' as const,
            parse: (input: unknown) => input,
            run: (input: unknown) => resultOf(tool, input),
          })),
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

async function createStreamed(
  sdk: AnthropicSdk,
  request: Request,
  { signal, onText }: Parameters<Send>[2],
): Promise<Messages.Message> {
  const stream = await sdk.messages.create({ ...request, stream: true }, { signal });
  const assembly = assembled();
  for await (const event of stream) {
    if (event.type === 'content_block_delta' && event.delta.type === 'text_delta') {
      onText?.(event.delta.text);
    }
    assembly.add(event);
  }
  // The package ends an aborted stream without an error.
  signal?.throwIfAborted();
  return assembly.message();
}

/** What an app does that reads the events itself. */
function assembled() {
  let message: Messages.Message | undefined;
  let json = '';
  let isComplete = false;
  const add = (event: Messages.RawMessageStreamEvent): void => {
    if (event.type === 'message_start') message = structuredClone(event.message);
    if (event.type === 'message_stop') isComplete = true;
    if (message === undefined) return;
    if (event.type === 'message_delta') {
      Object.assign(message, event.delta);
      message.usage = { ...message.usage, ...knownOf(event.usage) };
    }
    if (event.type === 'content_block_start') {
      if (event.index !== message.content.length) throw new Error('A block is out of order.');
      message.content.push({ ...event.content_block });
      json = '';
    }
    const block = message.content.at(-1);
    if (event.type === 'content_block_delta') {
      const { delta } = event;
      if (block?.type === 'text' && delta.type === 'text_delta') block.text += delta.text;
      if (block?.type === 'thinking' && delta.type === 'thinking_delta') {
        block.thinking += delta.thinking;
      }
      if (block?.type === 'thinking' && delta.type === 'signature_delta') {
        block.signature += delta.signature;
      }
      if (delta.type === 'input_json_delta') json += delta.partial_json;
    }
    if (event.type === 'content_block_stop' && block?.type === 'tool_use') {
      block.input = json === '' ? block.input : parsedOrCut(json);
    }
  };
  return {
    add,
    message: (): Messages.Message => {
      if (message === undefined || !isComplete) throw new Error('The stream ended early.');
      return message;
    },
  };
}

/** Arguments that the output limit cut are no JSON. */
function parsedOrCut(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch {
    return {};
  }
}

function knownOf(usage: Messages.MessageDeltaUsage): Partial<Messages.Usage> {
  return Object.fromEntries(Object.entries(usage).filter(([, value]) => value !== null));
}

async function streamHelper(
  sdk: AnthropicSdk,
  request: Request,
  { signal, onText }: Parameters<Send>[2],
): Promise<Messages.Message> {
  const stream = sdk.messages.stream(request, { signal });
  stream.on('text', (text) => onText?.(text));
  return stream.finalMessage();
}

/** Runs the tools until the model stops calling them, for each of the prompts. */
async function conversed(
  { prompts, tools }: Conversation,
  send: (messages: Messages.MessageParam[]) => Promise<Messages.Message>,
): Promise<readonly string[]> {
  const messages: Messages.MessageParam[] = [];
  const answers: string[] = [];
  for (const prompt of prompts) {
    messages.push(userMessage(prompt));
    answers.push(await answered());
  }
  return answers;

  async function answered(): Promise<string> {
    for (let round = 0; round < maxRounds; round += 1) {
      const message = await send(messages);
      messages.push({ role: 'assistant', content: message.content });
      if (message.stop_reason !== 'tool_use') return textOf(message);
      messages.push({
        role: 'user',
        content: message.content.flatMap((block) => toolResults(block, tools)),
      });
    }
    throw new Error('The model never stopped calling tools.');
  }
}

function toolResults(
  block: Messages.ContentBlock,
  tools: readonly AppTool[],
): Messages.ToolResultBlockParam[] {
  if (block.type !== 'tool_use') return [];
  const tool = tools.find(({ name }) => name === block.name);
  if (tool === undefined) throw new Error(`The model called ${block.name}, which is not offered.`);
  return [{ type: 'tool_result', tool_use_id: block.id, content: resultOf(tool, block.input) }];
}

function resultOf(tool: AppTool, input: unknown): string | Messages.ImageBlockParam[] {
  const result = tool.run(String(Object(input)[tool.parameter]));
  if (typeof result === 'string') return result;
  return [{ type: 'image', source: { type: 'base64', media_type: 'image/png', data: result.png } }];
}

function conversationRequest(
  model: string,
  messages: Messages.MessageParam[],
  { tools, reasons }: Conversation,
): Request {
  return {
    ...requestFor(model, messages),
    system: instructions,
    tools: tools.map(declaration),
    ...thinkingFor(reasons),
  };
}

function questionRequest(model: string, question: Question): Request {
  const { structured, stop, cached } = question;
  const cache_control = { type: 'ephemeral' as const };
  return {
    ...requestFor(model, [questionMessage(question)]),
    ...(structured === true ? { output_config: { format: placeFormat } } : {}),
    ...(stop === undefined ? {} : { stop_sequences: [stop] }),
    ...(cached === true ? { system: [{ type: 'text', text: instructions, cache_control }] } : {}),
  };
}

function requestFor(model: string, messages: Messages.MessageParam[]): Request {
  return { model, max_tokens: 4096, messages };
}

function thinkingFor(reasons: boolean): Pick<Request, 'thinking'> {
  return reasons ? { thinking: { type: 'enabled', budget_tokens: thinkingBudget } } : {};
}

function declaration({ name, parameter }: AppTool) {
  return {
    name,
    description: 'A tool of the app.',
    input_schema: {
      type: 'object' as const,
      properties: { [parameter]: { type: 'string' } },
      required: [parameter],
    },
  };
}

function userMessage(prompt: string): Messages.MessageParam {
  return { role: 'user', content: prompt };
}

function questionMessage({ prompt, imageUrl, pdf }: Question): Messages.MessageParam {
  if (imageUrl === undefined && pdf === undefined) return userMessage(prompt);
  const content: Messages.ContentBlockParam[] = [{ type: 'text', text: prompt }];
  if (imageUrl !== undefined) {
    const data = imageUrl.slice(imageUrl.indexOf(',') + 1);
    content.push({ type: 'image', source: { type: 'base64', media_type: 'image/png', data } });
  }
  if (pdf !== undefined) {
    const source = { type: 'base64', media_type: 'application/pdf', data: pdf } as const;
    content.push({ type: 'document', source });
  }
  return { role: 'user', content };
}

interface Ended {
  readonly content: readonly { readonly type: string; readonly text?: string }[];
  readonly stop_reason: string | null;
  readonly stop_details?: { readonly explanation?: string | null } | null;
  readonly usage: Pick<
    Messages.Usage,
    'input_tokens' | 'output_tokens' | 'cache_read_input_tokens' | 'cache_creation_input_tokens'
  >;
}

function answerOf(message: Ended): Answer {
  const { input_tokens, cache_read_input_tokens, cache_creation_input_tokens } = message.usage;
  return {
    text: textOf(message),
    inputTokens: input_tokens + (cache_read_input_tokens ?? 0) + (cache_creation_input_tokens ?? 0),
    outputTokens: message.usage.output_tokens,
    unfinished: message.stop_reason === 'max_tokens' ? message.stop_reason : undefined,
    refusal:
      message.stop_reason === 'refusal'
        ? (message.stop_details?.explanation ?? message.stop_reason)
        : undefined,
  };
}

function textOf({ content }: Pick<Ended, 'content'>): string {
  return content.map((block) => (block.type === 'text' ? (block.text ?? '') : '')).join('');
}

const placeFormat: Messages.JSONOutputFormat = {
  type: 'json_schema',
  schema: {
    type: 'object',
    properties: { city: { type: 'string' } },
    required: ['city'],
    additionalProperties: false,
  },
};
