/** Every way of every client that is tested. */
import { agentsClients } from './agents.ts';
import { aiSdkClients } from './ai-sdk.ts';
import type { Client } from './client.ts';
import { langchainClients } from './langchain.ts';
import { openaiClients } from './openai.ts';

export const clients: readonly Client[] = [
  ...(await openaiClients('openai5', 5)),
  ...(await openaiClients('openai6', 6)),
  ...(await openaiClients('openai', 7)),
  ...(await aiSdkClients(6, 'ai6', 'ai-sdk-openai3')),
  ...(await aiSdkClients(7, 'ai7', 'ai-sdk-openai4')),
  ...agentsClients(),
  ...langchainClients(),
];
