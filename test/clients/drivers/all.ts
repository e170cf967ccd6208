/** Every way of every client that is tested, by the API that it calls. */
import { agentsClients } from './agents.ts';
import { aiSdkAnthropicClients } from './ai-sdk-anthropic.ts';
import { aiSdkOpenaiClients } from './ai-sdk-openai.ts';
import { anthropicClients } from './anthropic.ts';
import type { Client } from './client.ts';
import { langchainAnthropicClients } from './langchain-anthropic.ts';
import { langchainOpenaiClients } from './langchain-openai.ts';
import { openaiClients } from './openai.ts';

/** Clients of `POST /v1/responses`. */
export const responsesClients: readonly Client[] = [
  ...(await openaiClients('openai5', 5)),
  ...(await openaiClients('openai6', 6)),
  ...(await openaiClients('openai', 7)),
  ...(await aiSdkOpenaiClients(6, 'ai-sdk-openai3')),
  ...(await aiSdkOpenaiClients(7, 'ai-sdk-openai4')),
  ...agentsClients(),
  ...langchainOpenaiClients(),
];

/** Clients of `POST /v1/messages`. */
export const messagesClients: readonly Client[] = [
  ...(await anthropicClients('anthropic-sdk-0.71', '0.71')),
  ...(await anthropicClients('anthropic-sdk-0.137', '0.137')),
  ...(await anthropicClients('@anthropic-ai/sdk', '1')),
  ...(await aiSdkAnthropicClients(5, 'ai-sdk-anthropic2')),
  ...(await aiSdkAnthropicClients(6, 'ai-sdk-anthropic3')),
  ...(await aiSdkAnthropicClients(7, 'ai-sdk-anthropic4')),
  ...(await langchainAnthropicClients()),
];
