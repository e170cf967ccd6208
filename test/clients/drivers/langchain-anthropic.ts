/** `ChatAnthropic` of LangChain 0.3 and 1. */

import type * as Langchain1 from '@langchain/anthropic';
import { ChatAnthropic } from '@langchain/anthropic';
import * as core from '@langchain/core/messages';
import { serverTools } from './anthropic-requests.ts';
import { type Client, rootOf, type Target, thinkingBudget } from './client.ts';
import { declaration, langchainClients, type Wanted } from './langchain.ts';

type Version = Pick<typeof core, 'HumanMessage' | 'SystemMessage' | 'ToolMessage'> &
  Pick<typeof Langchain1, 'ChatAnthropic'>;

/** `invoke` and `stream` of both versions. */
export async function langchainAnthropicClients(): Promise<readonly Client[]> {
  // The types of version 0 differ in details that are not used here.
  const path = '../langchain0/index.ts';
  const version0: Version = await import(path);
  return [
    ...versionClients(0, version0, 'functionCalling'),
    ...versionClients(1, { ...core, ChatAnthropic }, 'jsonSchema'),
  ];
}

function versionClients(
  major: number,
  version: Version,
  structuredBy: 'jsonSchema' | 'functionCalling',
): readonly Client[] {
  const modelOf = (
    { baseURL, apiKey, model, maxRetries = 0 }: Target,
    { reasons, fallback }: Pick<Wanted, 'reasons' | 'fallback'>,
  ): Langchain1.ChatAnthropic =>
    new version.ChatAnthropic({
      model,
      apiKey,
      anthropicApiUrl: rootOf(baseURL),
      maxRetries,
      maxTokens: 4096,
      ...(reasons ? { thinking: { type: 'enabled', budget_tokens: thinkingBudget } } : {}),
      ...(fallback === undefined ? {} : { invocationKwargs: { fallbacks: [{ model: fallback }] } }),
    });
  const clients = langchainClients({
    name: `langchain ${major}`,
    suffix: ', anthropic',
    core: version,
    structuredBy,
    modelOf: (target) => modelOf(target, { reasons: false }),
    withTools: (target, wanted) =>
      modelOf(target, wanted).bindTools([
        ...serverTools(wanted.serverTool),
        ...wanted.tools.map((one) => {
          const { schema, ...named } = declaration(one);
          return { ...named, input_schema: schema };
        }),
      ]),
    endOf: ({ response_metadata: { stop_reason }, additional_kwargs, text }) => {
      const reason = stop_reason ?? additional_kwargs.stop_reason;
      return {
        unfinished: reason === 'max_tokens' ? reason : undefined,
        refusal: reason === 'refusal' ? text || reason : undefined,
      };
    },
  });
  return clients.map((client) => ({
    ...client,
    addsUsageOfEvents: client.streams,
    disablesReasoning: major === 0,
    forgets: major > 0 && !client.streams ? ['web_fetch'] : ['web_fetch', 'code_execution'],
    // Version 0 waits for the reply to a streamed call before it looks at the signal.
    abortsEarly: major > 0 || !client.streams,
  }));
}
