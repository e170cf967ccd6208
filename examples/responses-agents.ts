/**
 * OpenAI's Agents SDK over any model of the gateway: an agent with a tool, whose traces stay in the
 * app.
 */
import { Agent, OpenAIProvider, Runner, tool } from '@openai/agents';
import { z } from 'zod';

const weather = tool({
  name: 'weather',
  description: 'The weather in a city.',
  parameters: z.object({ city: z.string() }),
  execute: async ({ city }) => `It is foggy in ${city}.`,
});

/** A gateway, and who calls it. */
export interface GatewayAccount {
  /** With `/v1`: `http://localhost:3000/v1`. */
  readonly baseURL: string;
  readonly apiKey: string;
}

/** Runs an agent until it has an answer. */
export async function runWeatherAgent(
  { baseURL, apiKey }: GatewayAccount,
  model: string,
  prompt: string,
): Promise<string> {
  const modelProvider = new OpenAIProvider({ baseURL, apiKey, useResponses: true });
  // Without this, traces with prompts and answers are sent to OpenAI.
  const runner = new Runner({ modelProvider, tracingDisabled: true });
  const agent = new Agent({
    name: 'Forecaster',
    instructions: 'Be brief.',
    model,
    tools: [weather],
  });
  const { finalOutput } = await runner.run(agent, prompt);
  return finalOutput ?? '';
}
