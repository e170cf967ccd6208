/**
 * LangChain's chat models: `invoke` and `stream`, and loops of tools. Versions 0 and 1 have the
 * same interface here, but packages of their own.
 */

import type * as Core from '@langchain/core/messages';
import { z } from 'zod';
import {
  type Answer,
  type AppDocument,
  type AppTool,
  type Client,
  type Conversation,
  calledTool,
  instructions,
  maxRounds,
  type Question,
  type Target,
} from './client.ts';

const place = z.object({ city: z.string() });

/** A kind of chat model, and the version of LangChain that it belongs to. */
export interface LangchainSetup {
  /** Package and version, as in the names of its clients: `langchain anthropic 0`. */
  readonly name: string;
  /** Settings, at the end of the names: `, zdrEnabled`. */
  readonly suffix: string;
  readonly core: Pick<typeof Core, 'HumanMessage' | 'SystemMessage' | 'ToolMessage'>;
  readonly structuredBy: 'jsonSchema' | 'functionCalling';
  modelOf(target: Target): ChatModel;
  withTools(target: Target, wanted: Wanted): Runnable;
  /** How the answer ended early, or that the model refused. */
  endOf(message: Core.AIMessage): Pick<Answer, 'unfinished' | 'refusal'>;
}

/** What is set for a model with tools. */
export type Wanted = Pick<Conversation, 'tools' | 'reasons' | 'serverTool'> &
  Pick<Question, 'fallback'>;

interface Options {
  readonly signal?: AbortSignal;
  readonly stop?: string[];
}

/** A model, or one with tools. */
export interface Runnable {
  invoke(messages: Core.BaseMessage[], options: Options): Promise<Core.AIMessageChunk>;
  stream(
    messages: Core.BaseMessage[],
    options: Options,
  ): Promise<AsyncIterable<Core.AIMessageChunk>>;
}

/** A model of any provider. */
export interface ChatModel extends Runnable {
  withStructuredOutput(
    schema: typeof place,
    config: { readonly method: LangchainSetup['structuredBy'] },
  ): { invoke(messages: Core.BaseMessage[], options: Options): Promise<unknown> };
}

/** `invoke` and `stream` of a chat model. */
export function langchainClients(setup: LangchainSetup): readonly Client[] {
  const { core } = setup;
  return [false, true].map((streams): Client => {
    const send = async (
      model: Runnable,
      messages: Core.BaseMessage[],
      options: Options,
      onText?: (text: string) => void,
    ): Promise<Core.AIMessageChunk> =>
      streams
        ? joined(await model.stream(messages, options), onText)
        : model.invoke(messages, options);
    return {
      name: `${setup.name} ${streams ? 'stream' : 'invoke'}${setup.suffix}`,
      streams,
      ask: async (target, question) => {
        const { structured, stop, signal, onText } = question;
        const model = setup.modelOf(target);
        const messages = questionMessages(core, question);
        const options = {
          ...(signal === undefined ? {} : { signal }),
          ...(stop === undefined ? {} : { stop: [stop] }),
        };
        if (structured === true) {
          const parser = model.withStructuredOutput(place, { method: setup.structuredBy });
          const parsed = await parser.invoke(messages, options);
          return { text: JSON.stringify(parsed), parsed };
        }
        const isPlain = question.serverTool === undefined && question.fallback === undefined;
        const runnable = isPlain
          ? model
          : setup.withTools(target, { ...question, tools: [], reasons: false });
        const answer = await send(runnable, messages, options, onText);
        return { ...answerOf(answer), ...setup.endOf(answer) };
      },
      converse: async (target, conversation) => {
        const { prompts, tools } = conversation;
        const model = setup.withTools(target, conversation);
        const messages: Core.BaseMessage[] = [new core.SystemMessage(instructions)];
        const answers: string[] = [];
        for (const prompt of prompts) {
          messages.push(new core.HumanMessage(prompt));
          answers.push(await answered());
        }
        return answers;

        async function answered(): Promise<string> {
          for (let round = 0; round < maxRounds; round += 1) {
            const answer = await send(model, messages, {});
            messages.push(answer, ...resultsOf(core, answer, tools));
            if ((answer.tool_calls ?? []).length === 0) return answer.text;
          }
          throw new Error('The model never stopped calling tools.');
        }
      },
    };
  });
}

/** The declaration of a tool, in the form that every version takes. */
export function declaration({ name, parameter }: AppTool) {
  return {
    name,
    description: 'A tool of the app.',
    schema: {
      type: 'object' as const,
      properties: { [parameter]: { type: 'string' as const } },
      required: [parameter],
      additionalProperties: false,
    },
  };
}

async function joined(
  chunks: AsyncIterable<Core.AIMessageChunk>,
  onText?: (text: string) => void,
): Promise<Core.AIMessageChunk> {
  let whole: Core.AIMessageChunk | undefined;
  for await (const chunk of chunks) {
    if (chunk.text !== '') onText?.(chunk.text);
    whole = whole === undefined ? chunk : whole.concat(chunk);
  }
  if (whole === undefined) throw new Error('The stream had no chunk.');
  return whole;
}

function resultsOf(
  core: LangchainSetup['core'],
  answer: Core.AIMessage | Core.AIMessageChunk,
  tools: readonly AppTool[],
): Core.ToolMessage[] {
  return (answer.tool_calls ?? []).map(({ name, args, id = '' }) => {
    const called = calledTool(tools, name);
    const result = called.run(String(args[called.parameter]));
    const content =
      typeof result === 'string'
        ? result
        : [{ type: 'image_url', image_url: { url: `data:image/png;base64,${result.png}` } }];
    return new core.ToolMessage({ tool_call_id: id, content });
  });
}

function questionMessages(
  core: LangchainSetup['core'],
  { prompt, imageUrl, document, cached }: Question,
): Core.BaseMessage[] {
  const content = [
    { type: 'text', text: prompt },
    ...(imageUrl === undefined ? [] : [{ type: 'image_url', image_url: { url: imageUrl } }]),
    ...(document === undefined ? [] : [documentBlock(document)]),
  ];
  const message = new core.HumanMessage(content.length === 1 ? prompt : { content });
  if (cached !== true) return [message];
  const marked = { type: 'text', text: instructions, cache_control: { type: 'ephemeral' } };
  return [new core.SystemMessage({ content: [marked] }), message];
}

/** Both versions pass blocks in Anthropic's form as they are. */
function documentBlock({ form, data, isCited }: AppDocument) {
  const sources = {
    base64: { type: 'base64', media_type: 'application/pdf', data },
    url: { type: 'url', url: data },
    text: { type: 'text', media_type: 'text/plain', data },
  };
  const citations = isCited === true ? { citations: { enabled: true } } : {};
  return { type: 'document', source: sources[form], ...citations };
}

function answerOf(message: Core.AIMessage): Answer {
  const usage: { readonly input_tokens?: number; readonly output_tokens?: number } = Object(
    message.usage_metadata,
  );
  return {
    text: message.text,
    inputTokens: usage.input_tokens,
    outputTokens: usage.output_tokens,
    cited: citedIn(message.content),
  };
}

interface Citation {
  readonly url?: string;
  readonly cited_text: string;
}

function citedIn(content: Core.AIMessage['content']): readonly string[] {
  if (typeof content === 'string') return [];
  return content
    .flatMap((block): readonly Citation[] => Object(block).citations ?? [])
    .map(({ url, cited_text }) => url ?? cited_text);
}
