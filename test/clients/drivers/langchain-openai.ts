/** `ChatOpenAI` with `useResponsesApi`, plain and with `zdrEnabled`, which stores nothing. */
import * as core from '@langchain/core/messages';
import { tool } from '@langchain/core/tools';
import { ChatOpenAI } from '@langchain/openai';
import type { Client, Target } from './client.ts';
import { declaration, langchainClients } from './langchain.ts';

/** `invoke` and `stream`, with and without `zdrEnabled`. */
export function langchainOpenaiClients(): readonly Client[] {
  return [false, true].flatMap((zdrEnabled) => {
    const modelOf = ({ baseURL, apiKey, model }: Target, reasons: boolean): ChatOpenAI =>
      new ChatOpenAI({
        model,
        apiKey,
        configuration: { baseURL },
        useResponsesApi: true,
        zdrEnabled,
        maxRetries: 0,
        // Its own option applies only to names of OpenAI's models.
        ...(reasons ? { modelKwargs: { reasoning: { effort: 'low', summary: 'auto' } } } : {}),
      });
    return langchainClients({
      name: 'langchain',
      suffix: zdrEnabled ? ', zdrEnabled' : '',
      core,
      structuredBy: 'jsonSchema',
      modelOf: (target) => modelOf(target, false),
      withTools: (target, { tools, reasons }) =>
        modelOf(target, reasons).bindTools(
          tools.map((one) => tool(() => '', declaration(one))),
          // Reasoning that is not stored has to come in the reply.
          zdrEnabled ? { include: ['reasoning.encrypted_content'] } : {},
        ),
      endOf: ({ response_metadata: { status, incomplete_details }, additional_kwargs }) => {
        const details: { readonly reason?: string } = Object(incomplete_details);
        const { refusal } = additional_kwargs;
        return {
          unfinished: status === 'incomplete' ? details.reason : undefined,
          refusal: typeof refusal === 'string' ? refusal : undefined,
        };
      },
    });
  });
}
