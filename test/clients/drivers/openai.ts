/** The `openai` package: whole replies, plain streams and the helper for streams. */
import type { ClientOptions, default as OpenAISdk } from 'openai';
import type { Responses } from 'openai/resources/responses/responses';
import {
  type Answer,
  type AppTool,
  type Client,
  type Conversation,
  instructions,
  maxRounds,
  type Target,
} from './client.ts';

type Request = Omit<Responses.ResponseCreateParamsNonStreaming, 'stream'>;
type Send = (
  sdk: OpenAISdk,
  request: Request,
  options: { readonly signal?: AbortSignal; readonly onText?: (text: string) => void },
) => Promise<Responses.Response>;

const ways: readonly (readonly [name: string, streams: boolean, send: Send])[] = [
  ['create', false, (sdk, request, { signal }) => sdk.responses.create(request, { signal })],
  ['create with stream', true, createStreamed],
  ['.stream()', true, streamHelper],
];

/** The ways of one major version. `packageName` is its alias in package.json. */
export async function openaiClients(
  packageName: string,
  major: number,
): Promise<readonly Client[]> {
  // The older versions differ in details of their types; what is used here is the same in all.
  const { default: OpenAI }: { readonly default: new (options: ClientOptions) => OpenAISdk } =
    await import(packageName);
  const sdkFor = ({ baseURL, apiKey }: Target): OpenAISdk =>
    new OpenAI({ baseURL, apiKey, maxRetries: 0 });
  return ways.map(([way, streams, send]) => ({
    name: `openai ${major} ${way}`,
    streams,
    ask: async (target, { prompt, imageUrl, structured, ...options }) => {
      const request = {
        model: target.model,
        input: [userMessage(prompt, imageUrl)],
        ...(structured === true ? { text: { format: placeFormat } } : {}),
      };
      const sdk = sdkFor(target);
      if (structured === true && !streams) {
        const response = await sdk.responses.parse(request, { signal: options.signal });
        return { ...answerOf(response), parsed: response.output_parsed };
      }
      const answer = answerOf(await send(sdk, request, options));
      return structured === true ? { ...answer, parsed: JSON.parse(answer.text) } : answer;
    },
    converse: async (target, conversation) => {
      const { prompts, tools } = conversation;
      const sdk = sdkFor(target);
      const input: Responses.ResponseInputItem[] = [];
      const answers: string[] = [];
      for (const prompt of prompts) {
        input.push(userMessage(prompt));
        answers.push(await answered(input));
      }
      return answers;

      async function answered(history: Responses.ResponseInputItem[]): Promise<string> {
        for (let round = 0; round < maxRounds; round += 1) {
          const response = await send(
            sdk,
            conversationRequest(target.model, history, conversation),
            {},
          );
          history.push(...response.output.filter(isInput));
          const outputs = response.output.flatMap((item) => outputOf(item, tools));
          if (outputs.length === 0) return textOf(response);
          history.push(...outputs);
        }
        throw new Error('The model never stopped calling tools.');
      }
    },
  }));
}

async function createStreamed(
  sdk: OpenAISdk,
  request: Request,
  { signal, onText }: Parameters<Send>[2],
): Promise<Responses.Response> {
  const stream = await sdk.responses.create({ ...request, stream: true }, { signal });
  let last: Responses.Response | undefined;
  for await (const event of stream) {
    if (event.type === 'response.output_text.delta') onText?.(event.delta);
    if (event.type === 'response.completed' || event.type === 'response.incomplete') {
      last = event.response;
    }
  }
  // The package ends an aborted stream without an error.
  signal?.throwIfAborted();
  if (last === undefined) throw new Error('The stream ended without its last event.');
  return last;
}

async function streamHelper(
  sdk: OpenAISdk,
  request: Request,
  { signal, onText }: Parameters<Send>[2],
): Promise<Responses.Response> {
  const stream = sdk.responses.stream(request, { signal });
  let incomplete: Responses.Response | undefined;
  for await (const event of stream) {
    if (event.type === 'response.output_text.delta') onText?.(event.delta);
    if (event.type === 'response.incomplete') incomplete = event.response;
  }
  // In version 5 the final response does not say that it is incomplete.
  return incomplete ?? (await stream.finalResponse());
}

function conversationRequest(
  model: string,
  input: Responses.ResponseInputItem[],
  { tools, reasons }: Conversation,
): Request {
  return {
    model,
    instructions,
    input,
    tools: tools.map((tool) => ({
      type: 'function' as const,
      name: tool.name,
      strict: true,
      parameters: {
        type: 'object',
        properties: { [tool.parameter]: { type: 'string' } },
        required: [tool.parameter],
        additionalProperties: false,
      },
    })),
    ...(reasons
      ? {
          reasoning: { effort: 'low' as const, summary: 'auto' as const },
          include: ['reasoning.encrypted_content' as const],
        }
      : {}),
  };
}

function userMessage(prompt: string, imageUrl?: string): Responses.ResponseInputItem {
  if (imageUrl === undefined) return { role: 'user', content: prompt };
  return {
    role: 'user',
    content: [
      { type: 'input_text', text: prompt },
      { type: 'input_image', image_url: imageUrl, detail: 'auto' },
    ],
  };
}

/** Whether the item can be sent back as it is; all that these models return can be. */
function isInput(
  item: Responses.ResponseOutputItem,
): item is Responses.ResponseOutputItem & Responses.ResponseInputItem {
  return ['message', 'reasoning', 'function_call'].includes(item.type);
}

function outputOf(
  item: Responses.ResponseOutputItem,
  tools: readonly AppTool[],
): Responses.ResponseInputItem[] {
  if (item.type !== 'function_call') return [];
  const tool = tools.find(({ name }) => name === item.name);
  if (tool === undefined) throw new Error(`The model called ${item.name}, which is not offered.`);
  const result = tool.run(JSON.parse(item.arguments)[tool.parameter]);
  const output =
    typeof result === 'string'
      ? result
      : [
          {
            type: 'input_image' as const,
            image_url: `data:image/png;base64,${result.png}`,
            detail: 'auto' as const,
          },
        ];
  return [{ type: 'function_call_output', call_id: item.call_id, output }];
}

function answerOf(response: Responses.Response): Answer {
  const refusals = partsOf(response).flatMap((part) =>
    part.type === 'refusal' ? [part.refusal] : [],
  );
  return {
    text: textOf(response),
    inputTokens: response.usage?.input_tokens,
    outputTokens: response.usage?.output_tokens,
    unfinished: response.incomplete_details?.reason,
    refusal: refusals[0],
  };
}

function textOf(response: Responses.Response): string {
  return partsOf(response)
    .map((part) => (part.type === 'output_text' ? part.text : ''))
    .join('');
}

function partsOf(response: Responses.Response) {
  return response.output.flatMap((item) => (item.type === 'message' ? item.content : []));
}

const placeFormat: Responses.ResponseFormatTextJSONSchemaConfig = {
  type: 'json_schema',
  name: 'place',
  strict: true,
  schema: {
    type: 'object',
    properties: { city: { type: 'string' } },
    required: ['city'],
    additionalProperties: false,
  },
};
