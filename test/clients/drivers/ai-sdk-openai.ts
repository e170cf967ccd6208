/**
 * `@ai-sdk/openai` in its default, which refers to earlier items by id, and with `store: false`,
 * which sends them whole.
 */
import type * as OpenAIProvider from 'ai-sdk-openai4';
import { aiSdk, aiSdkClients, type Settings } from './ai-sdk.ts';
import type { Client } from './client.ts';

const stores = [
  ['', {}],
  [', store: false', { store: false }],
] as const;

/** Both ways of one major version with each of the settings. */
export async function aiSdkOpenaiClients(
  major: number,
  providerName: string,
): Promise<readonly Client[]> {
  const version = await aiSdk(major);
  const { createOpenAI }: typeof OpenAIProvider = await import(providerName);
  return stores.flatMap(([suffix, store]) => {
    const settings: Settings = ({ baseURL, apiKey, model, maxRetries = 0 }, { reasons }) => ({
      model: createOpenAI({ baseURL, apiKey })(model),
      maxRetries,
      providerOptions: {
        openai: {
          ...store,
          // The SDK knows by their names which of OpenAI's models reason, and no other models.
          ...(reasons
            ? { reasoningEffort: 'low', reasoningSummary: 'auto', forceReasoning: true }
            : {}),
        },
      },
    });
    return aiSdkClients(version, settings, suffix);
  });
}
