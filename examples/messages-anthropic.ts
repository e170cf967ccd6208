/**
 * Anthropic's SDK over any model of the gateway: calls are relayed to Anthropic and translated for
 * all other upstreams.
 */
import Anthropic from '@anthropic-ai/sdk';

/** A gateway, and who calls it. */
export interface GatewayAccount {
  /** Without `/v1`, which the SDK adds: `http://localhost:3000`. */
  readonly baseURL: string;
  readonly apiKey: string;
}

const weather: Anthropic.Tool = {
  name: 'weather',
  description: 'The weather in a city.',
  input_schema: {
    type: 'object',
    properties: { city: { type: 'string' } },
    required: ['city'],
  },
};

/** Answers a question about the weather with a tool, in at most five requests. */
export async function askAboutWeather(
  account: GatewayAccount,
  model: string,
  prompt: string,
): Promise<string> {
  const client = new Anthropic(account);
  const messages: Anthropic.MessageParam[] = [{ role: 'user', content: prompt }];
  for (let request = 0; request < 5; request += 1) {
    const message = await client.messages
      .stream({ model, max_tokens: 2048, tools: [weather], messages })
      .finalMessage();
    if (message.stop_reason !== 'tool_use') return textOf(message);
    // The whole content, with its thinking: the model reads that again with the results.
    messages.push({ role: 'assistant', content: message.content });
    messages.push({ role: 'user', content: message.content.flatMap(resultOf) });
  }
  throw new Error('The model did not stop calling its tool.');
}

function resultOf(block: Anthropic.ContentBlock): Anthropic.ToolResultBlockParam[] {
  if (block.type !== 'tool_use') return [];
  const { city }: { readonly city?: string } = Object(block.input);
  return [{ type: 'tool_result', tool_use_id: block.id, content: `It is foggy in ${city}.` }];
}

function textOf({ content }: Anthropic.Message): string {
  return content.map((block) => (block.type === 'text' ? block.text : '')).join('');
}
