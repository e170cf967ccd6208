/** Requests of `@anthropic-ai/sdk`, and what an app reads of its messages. */
import type { Messages } from '@anthropic-ai/sdk/resources/messages/messages';
import {
  type Answer,
  type AppDocument,
  type AppTool,
  type Conversation,
  calledTool,
  instructions,
  type Question,
  type ServerTool,
  serverToolTypes,
  thinkingBudget,
} from './client.ts';

/** A request that is not streamed yet. */
export type Request = Messages.MessageCreateParamsNonStreaming;

/** The result of a block's call. */
export function toolResults(
  block: Messages.ContentBlock,
  tools: readonly AppTool[],
): Messages.ToolResultBlockParam[] {
  if (block.type !== 'tool_use') return [];
  const tool = calledTool(tools, block.name);
  return [{ type: 'tool_result', tool_use_id: block.id, content: resultOf(tool, block.input) }];
}

/** What the app's tool returns to the model. */
export function resultOf(tool: AppTool, input: unknown): string | Messages.ImageBlockParam[] {
  const result = tool.run(String(Object(input)[tool.parameter]));
  if (typeof result === 'string') return result;
  return [{ type: 'image', source: { type: 'base64', media_type: 'image/png', data: result.png } }];
}

/** The next request of a conversation. */
export function conversationRequest(
  model: string,
  messages: Messages.MessageParam[],
  { tools, reasons, serverTool }: Conversation,
): Request {
  return {
    ...requestFor(model, messages),
    system: instructions,
    tools: [...serverTools(serverTool), ...tools.map(customTool)],
    ...thinkingFor(reasons),
  };
}

/** A single question. */
export function questionRequest(model: string, question: Question): Request {
  const { structured, stop, cached, serverTool, fallback } = question;
  const cache_control = { type: 'ephemeral' as const };
  return {
    ...requestFor(model, [questionMessage(question)]),
    ...(structured === true ? { output_config: { format: placeFormat } } : {}),
    ...(stop === undefined ? {} : { stop_sequences: [stop] }),
    ...(cached === true ? { system: [{ type: 'text', text: instructions, cache_control }] } : {}),
    ...(serverTool === undefined ? {} : { tools: serverTools(serverTool) }),
    ...(fallback === undefined ? {} : { fallbacks: [{ model: fallback }] }),
  };
}

/** What every request has. */
export function requestFor(model: string, messages: Messages.MessageParam[]): Request {
  return { model, max_tokens: 4096, messages };
}

/** The setting for thinking. */
export function thinkingFor(reasons: boolean): Pick<Request, 'thinking'> {
  return reasons ? { thinking: { type: 'enabled', budget_tokens: thinkingBudget } } : {};
}

/** The declaration of an app's tool. */
export function customTool({ name, parameter }: AppTool) {
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

/** A prompt. */
export function userMessage(prompt: string): Messages.MessageParam {
  return { role: 'user', content: prompt };
}

function questionMessage({ prompt, imageUrl, document }: Question): Messages.MessageParam {
  if (imageUrl === undefined && document === undefined) return userMessage(prompt);
  const content: Messages.ContentBlockParam[] = [{ type: 'text', text: prompt }];
  if (imageUrl !== undefined) {
    const data = imageUrl.slice(imageUrl.indexOf(',') + 1);
    content.push({ type: 'image', source: { type: 'base64', media_type: 'image/png', data } });
  }
  if (document !== undefined) content.push(documentBlock(document));
  return { role: 'user', content };
}

function documentBlock({ form, data, isCited }: AppDocument): Messages.DocumentBlockParam {
  const sources = {
    base64: { type: 'base64', media_type: 'application/pdf', data },
    url: { type: 'url', url: data },
    text: { type: 'text', media_type: 'text/plain', data },
  } as const;
  return {
    type: 'document',
    source: sources[form],
    ...(isCited === true ? { citations: { enabled: true } } : {}),
  };
}

/** The declaration of a tool that Anthropic runs. */
export function serverTools(name: ServerTool | undefined): ServerToolParam[] {
  if (name === undefined) return [];
  if (name === 'code_execution') return [{ type: serverToolTypes[name], name }];
  if (name === 'web_fetch') return [{ type: serverToolTypes[name], name, max_uses: 5 }];
  return [{ type: serverToolTypes[name], name, max_uses: 5 }];
}

type ServerToolParam =
  | Messages.WebSearchTool20250305
  | Messages.WebFetchTool20250910
  | Messages.CodeExecutionTool20250825;

interface Block {
  readonly type: string;
  readonly text?: string;
  readonly citations?: readonly Citation[] | null;
}

interface Citation {
  readonly url?: string;
  readonly cited_text: string;
}

interface Ended {
  readonly content: readonly Block[];
  readonly stop_reason: string | null;
  readonly stop_details?: { readonly explanation?: string | null } | null;
  readonly usage: Pick<
    Messages.Usage,
    'input_tokens' | 'output_tokens' | 'cache_read_input_tokens' | 'cache_creation_input_tokens'
  >;
}

/** What an app shows of a message. */
export function answerOf(message: Ended): Answer {
  const { input_tokens, cache_read_input_tokens, cache_creation_input_tokens } = message.usage;
  return {
    text: textOf(message),
    cited: message.content
      .flatMap(({ citations }) => citations ?? [])
      .map(({ url, cited_text }) => url ?? cited_text),
    inputTokens: input_tokens + (cache_read_input_tokens ?? 0) + (cache_creation_input_tokens ?? 0),
    outputTokens: message.usage.output_tokens,
    unfinished: message.stop_reason === 'max_tokens' ? message.stop_reason : undefined,
    refusal:
      message.stop_reason === 'refusal'
        ? (message.stop_details?.explanation ?? message.stop_reason)
        : undefined,
  };
}

/** The text of a message. */
export function textOf({ content }: Pick<Ended, 'content'>): string {
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
