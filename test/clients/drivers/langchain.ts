/**
 * LangChain's `ChatOpenAI` with `useResponsesApi`, plain and with `zdrEnabled`, which stores
 * nothing.
 */
import {
  type AIMessage,
  type AIMessageChunk,
  type BaseMessage,
  HumanMessage,
  SystemMessage,
  ToolMessage,
} from '@langchain/core/messages';
import { tool } from '@langchain/core/tools';
import { ChatOpenAI } from '@langchain/openai';
import { z } from 'zod';
import {
  type Answer,
  type AppTool,
  type Client,
  instructions,
  maxRounds,
  type Target,
} from './client.ts';

const place = z.object({ city: z.string() });

/** `invoke` and `stream`, with and without `zdrEnabled`. */
export function langchainClients(): readonly Client[] {
  return [false, true].flatMap((zdrEnabled) =>
    [false, true].map((streams): Client => {
      const modelOf = ({ baseURL, apiKey, model }: Target, reasons: boolean) =>
        new ChatOpenAI({
          model,
          apiKey,
          configuration: { baseURL },
          useResponsesApi: true,
          zdrEnabled,
          maxRetries: 0,
          // Its own option applies only to names of OpenAI's models.
          ...(reasons ? { modelKwargs: { reasoning: { effort: 'low', summary: 'auto' } } } : {}),
        });
      return {
        name: `langchain ${streams ? 'stream' : 'invoke'}${zdrEnabled ? ', zdrEnabled' : ''}`,
        streams,
        ask: async (target, { prompt, imageUrl, structured, signal, onText }) => {
          const model = modelOf(target, false);
          const messages = [userMessage(prompt, imageUrl)];
          const options = signal === undefined ? {} : { signal };
          if (structured === true) {
            const parser = model.withStructuredOutput(place, { method: 'jsonSchema' });
            const parsed = await parser.invoke(messages, options);
            return { text: JSON.stringify(parsed), parsed };
          }
          const answer = streams
            ? await joined(await model.stream(messages, options), onText)
            : await model.invoke(messages, options);
          return answerOf(answer);
        },
        converse: async (target, { prompts, tools, reasons }) => {
          const model = modelOf(target, reasons).bindTools(tools.map(langchainTool), {
            // Reasoning that is not stored has to come in the reply.
            ...(zdrEnabled ? { include: ['reasoning.encrypted_content'] } : {}),
          });
          const messages: BaseMessage[] = [new SystemMessage(instructions)];
          const answers: string[] = [];
          for (const prompt of prompts) {
            messages.push(new HumanMessage(prompt));
            answers.push(await answered());
          }
          return answers;

          async function answered(): Promise<string> {
            for (let round = 0; round < maxRounds; round += 1) {
              const answer = streams
                ? await joined(await model.stream(messages))
                : await model.invoke(messages);
              messages.push(answer, ...resultsOf(answer, tools));
              if ((answer.tool_calls ?? []).length === 0) return answer.text;
            }
            throw new Error('The model never stopped calling tools.');
          }
        },
      };
    }),
  );
}

async function joined(
  chunks: AsyncIterable<AIMessageChunk>,
  onText?: (text: string) => void,
): Promise<AIMessageChunk> {
  let whole: AIMessageChunk | undefined;
  for await (const chunk of chunks) {
    if (chunk.text !== '') onText?.(chunk.text);
    whole = whole === undefined ? chunk : whole.concat(chunk);
  }
  if (whole === undefined) throw new Error('The stream had no chunk.');
  return whole;
}

function resultsOf(answer: AIMessage | AIMessageChunk, tools: readonly AppTool[]): ToolMessage[] {
  return (answer.tool_calls ?? []).map(({ name, args, id = '' }) => {
    const called = tools.find((one) => one.name === name);
    if (called === undefined) throw new Error(`The model called ${name}, which is not offered.`);
    const result = called.run(String(args[called.parameter]));
    const content =
      typeof result === 'string'
        ? result
        : [{ type: 'image_url', image_url: { url: `data:image/png;base64,${result.png}` } }];
    return new ToolMessage({ tool_call_id: id, content });
  });
}

/** Only declared: {@link resultsOf} runs it. */
function langchainTool({ name, parameter }: AppTool) {
  return tool(() => '', {
    name,
    description: 'A tool of the app.',
    schema: z.object({ [parameter]: z.string() }),
  });
}

function userMessage(prompt: string, imageUrl?: string): HumanMessage {
  if (imageUrl === undefined) return new HumanMessage(prompt);
  return new HumanMessage({
    content: [
      { type: 'text', text: prompt },
      { type: 'image_url', image_url: { url: imageUrl } },
    ],
  });
}

function answerOf(message: AIMessage): Answer {
  const { status, incomplete_details } = message.response_metadata;
  const details: { readonly reason?: string } = Object(incomplete_details);
  const usage: { readonly input_tokens?: number; readonly output_tokens?: number } = Object(
    message.usage_metadata,
  );
  return {
    text: message.text,
    inputTokens: usage.input_tokens,
    outputTokens: usage.output_tokens,
    unfinished: status === 'incomplete' ? details.reason : undefined,
    refusal: refusalOf(message),
  };
}

function refusalOf({ additional_kwargs }: AIMessage): string | undefined {
  const { refusal } = additional_kwargs;
  return typeof refusal === 'string' ? refusal : undefined;
}
