/** `@ai-sdk/anthropic`, which calls the Messages API. */
import type * as AnthropicProvider from 'ai-sdk-anthropic4';
import { aiSdk, aiSdkClients, type Settings } from './ai-sdk.ts';
import { type Client, thinkingBudget } from './client.ts';

/** Both ways of one major version. */
export async function aiSdkAnthropicClients(
  major: number,
  providerName: string,
): Promise<readonly Client[]> {
  const version = await aiSdk(major);
  const { createAnthropic }: typeof AnthropicProvider = await import(providerName);
  const settings: Settings = ({ baseURL, apiKey, model, maxRetries = 0 }, reasons) => ({
    model: createAnthropic({ baseURL, apiKey })(model),
    maxRetries,
    providerOptions: {
      anthropic: reasons ? { thinking: { type: 'enabled', budgetTokens: thinkingBudget } } : {},
    },
  });
  return aiSdkClients(version, settings, ', anthropic');
}
