/** The `openai` package: whole replies, plain streams and the helper for streams. */
import type { ClientOptions, default as OpenAISdk } from 'openai';
import type { Responses } from 'openai/resources/responses/responses';
import {
  type Answer,
  type AppTool,
  type Client,
  type Conversation,
  calledTool,
  instructions,
  type Question,
} from './client.ts';
import { type SdkApi, type SendOptions, sdkClients, type Way } from './sdk.ts';

type Request = Omit<Responses.ResponseCreateParamsNonStreaming, 'stream'>;
type Item = Responses.ResponseInputItem;

const ways: readonly Way<OpenAISdk, Request, Responses.Response>[] = [
  { name: 'create', streams: false, send: create },
  { name: 'create with stream', streams: true, send: createStreamed },
  { name: '.stream()', streams: true, send: streamHelper },
];

/** The ways of one major version. `packageName` is its alias in package.json. */
export async function openaiClients(
  packageName: string,
  major: number,
): Promise<readonly Client[]> {
  // The older versions differ in details of their types; what is used here is the same in all.
  const { default: OpenAI }: { readonly default: new (options: ClientOptions) => OpenAISdk } =
    await import(packageName);
  const api: SdkApi<OpenAISdk, Request, Item, Responses.Response> = {
    sdkFor: ({ baseURL, apiKey }) => new OpenAI({ baseURL, apiKey, maxRetries: 0 }),
    questionRequest,
    conversationRequest,
    userMessage,
    said: ({ output }) => output.filter(isInput),
    results: ({ output }, tools) => output.flatMap((item) => outputOf(item, tools)),
    answerOf,
  };
  return sdkClients(`openai ${major}`, api, ways);
}

/** Structured output has a method of its own. */
function create(
  sdk: OpenAISdk,
  request: Request,
  { signal }: SendOptions,
): Promise<Responses.Response> {
  return request.text === undefined
    ? sdk.responses.create(request, { signal })
    : sdk.responses.parse(request, { signal });
}

async function createStreamed(
  sdk: OpenAISdk,
  request: Request,
  { signal, onText }: SendOptions,
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
  { signal, onText }: SendOptions,
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

function questionRequest(model: string, { prompt, imageUrl, structured }: Question): Request {
  return {
    model,
    input: [userMessage(prompt, imageUrl)],
    ...(structured === true ? { text: { format: placeFormat } } : {}),
  };
}

function conversationRequest(
  model: string,
  input: Item[],
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

function userMessage(prompt: string, imageUrl?: string): Item {
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
function isInput(item: Responses.ResponseOutputItem): item is Responses.ResponseOutputItem & Item {
  return ['message', 'reasoning', 'function_call'].includes(item.type);
}

function outputOf(item: Responses.ResponseOutputItem, tools: readonly AppTool[]): Item[] {
  if (item.type !== 'function_call') return [];
  const tool = calledTool(tools, item.name);
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
    parsed: Reflect.get(response, 'output_parsed') ?? undefined,
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
