/** `@ai-sdk/anthropic`, which calls the Messages API. */

import type * as AnthropicProvider from 'ai-sdk-anthropic4';
import type { ToolSet } from 'ai7';
import { aiSdk, aiSdkClients, type Settings } from './ai-sdk.ts';
import { type Client, type ServerTool, thinkingBudget } from './client.ts';

/** Both ways of one major version. */
export async function aiSdkAnthropicClients(
  major: number,
  providerName: string,
): Promise<readonly Client[]> {
  const version = await aiSdk(major);
  const { createAnthropic }: typeof AnthropicProvider = await import(providerName);
  const settings: Settings = ({ baseURL, apiKey, model, maxRetries = 0 }, wanted) => {
    const { reasons, serverTool, fallback } = wanted;
    const provider = createAnthropic({ baseURL, apiKey });
    return {
      model: provider(model),
      maxRetries,
      ...(serverTool === undefined ? {} : { tools: serverTools(provider, serverTool) }),
      providerOptions: {
        anthropic: {
          ...(reasons ? { thinking: { type: 'enabled', budgetTokens: thinkingBudget } } : {}),
          ...(fallback === undefined ? {} : { fallbacks: [{ model: fallback }] }),
        },
      },
    };
  };
  return aiSdkClients(version, settings, ', anthropic');
}

function serverTools({ tools }: AnthropicProvider.AnthropicProvider, name: ServerTool): ToolSet {
  switch (name) {
    case 'web_search':
      return { web_search: tools.webSearch_20250305({ maxUses: 5 }) };
    case 'web_fetch':
      return { web_fetch: tools.webFetch_20250910({ maxUses: 5 }) };
    case 'code_execution':
      return { code_execution: tools.codeExecution_20250825() };
  }
}
