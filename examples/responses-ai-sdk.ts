/**
 * The AI SDK over any model of the gateway. Its OpenAI provider calls the Responses API, which the
 * gateway relays to OpenAI and translates for all other upstreams.
 */
import { createOpenAI } from '@ai-sdk/openai';
import { generateText, isStepCount, tool } from 'ai';
import { z } from 'zod';

/** A gateway, and who calls it. */
export interface GatewayAccount {
  /** With `/v1`: `http://localhost:3000/v1`. */
  readonly baseURL: string;
  readonly apiKey: string;
}

/** Answers a question about the weather with a tool, in as many steps as the model needs. */
export async function askAboutWeather(
  account: GatewayAccount,
  model: string,
  prompt: string,
): Promise<string> {
  const gateway = createOpenAI(account);
  const { text } = await generateText({
    model: gateway(model),
    prompt,
    tools: {
      weather: tool({
        description: 'The weather in a city.',
        inputSchema: z.object({ city: z.string() }),
        execute: ({ city }) => `It is foggy in ${city}.`,
      }),
    },
    stopWhen: isStepCount(5),
    // From the second step on, the SDK refers to earlier messages by id. A gateway of several
    // processes without a shared item store needs them whole.
    providerOptions: { openai: { store: false } },
  });
  return text;
}
