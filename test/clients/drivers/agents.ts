/** OpenAI's Agents SDK, which calls the Responses API and keeps the history of a run itself. */
import {
  Agent,
  type AgentInputItem,
  type AgentOutputType,
  ModelRefusalError,
  OpenAIProvider,
  Runner,
  tool,
  user,
} from '@openai/agents';
import OpenAI from 'openai';
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

/** `run` and `run` with `stream`. */
export function agentsClients(): readonly Client[] {
  return [false, true].map((streams) => ({
    name: `agents ${streams ? 'run with stream' : 'run'}`,
    streams,
    ask: async (target, { prompt, imageUrl, structured, signal, onText }) => {
      const agent = new Agent<unknown, AgentOutputType>({
        name: 'Helper',
        model: target.model,
        outputType: structured === true ? place : 'text',
      });
      const input = [userMessage(prompt, imageUrl)];
      try {
        const { finalOutput, rawResponses } = await finished(
          target,
          agent,
          input,
          streams,
          signal,
          onText,
        );
        return answerOf(finalOutput, rawResponses.at(-1)?.usage);
      } catch (error) {
        if (error instanceof ModelRefusalError) return { text: '', refusal: error.message };
        throw error;
      }
    },
    converse: async (target, { prompts, tools, reasons }) => {
      const agent = new Agent<unknown, AgentOutputType>({
        name: 'Helper',
        instructions,
        model: target.model,
        ...(reasons ? { modelSettings: { reasoning: { effort: 'low', summary: 'auto' } } } : {}),
        tools: tools.map(agentTool),
      });
      let history: AgentInputItem[] = [];
      const answers: string[] = [];
      for (const prompt of prompts) {
        const result = await finished(target, agent, [...history, user(prompt)], streams);
        history = result.history;
        answers.push(String(result.finalOutput));
      }
      return answers;
    },
  }));
}

async function finished(
  { baseURL, apiKey }: Target,
  agent: Agent<unknown, AgentOutputType>,
  input: AgentInputItem[],
  streams: boolean,
  signal?: AbortSignal,
  onText?: (text: string) => void,
) {
  const openAIClient = new OpenAI({ baseURL, apiKey, maxRetries: 0 });
  const modelProvider = new OpenAIProvider({ openAIClient, useResponses: true });
  const runner = new Runner({ modelProvider, tracingDisabled: true });
  const options = { maxTurns: maxRounds, ...(signal === undefined ? {} : { signal }) };
  if (!streams) return runner.run(agent, input, options);
  const result = await runner.run(agent, input, { ...options, stream: true });
  for await (const event of result) {
    if (event.type !== 'raw_model_stream_event') continue;
    if (event.data.type === 'output_text_delta') onText?.(event.data.delta);
  }
  await result.completed;
  if (signal?.aborted === true) throw new DOMException('The run was aborted.', 'AbortError');
  return result;
}

function agentTool({ name, parameter, run }: AppTool) {
  return tool({
    name,
    description: 'A tool of the app.',
    parameters: z.object({ [parameter]: z.string() }),
    execute: async (input) => {
      const result = run(String(input[parameter]));
      if (typeof result === 'string') return result;
      return { type: 'image' as const, image: { data: result.png, mediaType: 'image/png' } };
    },
  });
}

function userMessage(prompt: string, imageUrl?: string): AgentInputItem {
  if (imageUrl === undefined) return user(prompt);
  return user([
    { type: 'input_text', text: prompt },
    { type: 'input_image', image: imageUrl },
  ]);
}

function answerOf(
  output: unknown,
  usage: { readonly inputTokens: number; readonly outputTokens: number } | undefined,
): Answer {
  const text = typeof output === 'string' ? output : JSON.stringify(output);
  return {
    text,
    inputTokens: usage?.inputTokens,
    outputTokens: usage?.outputTokens,
    parsed: output,
  };
}
