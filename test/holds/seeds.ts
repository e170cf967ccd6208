/** Valid bodies of each protocol, with every kind of content that a prompt may have. */
import type { JsonObject } from '../../src/json.ts';
import { type Capabilities, dialectNames } from '../../src/ports/models/capabilities.ts';
import { messagesAliases, messagesSeeds } from './messages-seeds.ts';

/** The test data of one protocol. */
export interface ProtocolRow {
  readonly name: 'chat' | 'native' | 'images' | 'responses' | 'messages';
  /** How its calls are served, if not in the only way. */
  readonly served?: string;
  /** Of the channels. */
  readonly capabilities?: Capabilities;
  /** How to request a whole reply and, if the protocol has it, a streamed one. */
  readonly requests: readonly {
    readonly path: string;
    readonly search?: string;
    readonly members: JsonObject;
  }[];
  readonly dialects: readonly ('openai' | 'gemini' | 'anthropic')[];
  readonly seeds: readonly JsonObject[];
  /**
   * Bodies with two members for one setting, or with a member of another type; each may be refused.
   */
  readonly aliases: readonly JsonObject[];
}

const base64 = 'iVBORw0KGgo'.padEnd(4_000, 'A');
const png = `data:image/png;base64,${base64}`;
const pdf = `data:application/pdf;base64,${base64}`;
const schema: JsonObject = {
  type: 'object',
  description: 'A place',
  properties: { city: { type: 'string', enum: ['Paris', 'Rome'] }, days: { type: 'integer' } },
  required: ['city'],
};

const question = { role: 'user', content: 'What is the weather?' } as const;

const chatSeeds: readonly JsonObject[] = [
  { messages: [{ role: 'system', content: 'Be brief.' }, question], max_tokens: 7 },
  {
    messages: [
      question,
      {
        role: 'assistant',
        content: null,
        tool_calls: [
          { id: 'call_1', type: 'function', function: { name: 'weather', arguments: '{"a":1}' } },
        ],
      },
      { role: 'tool', tool_call_id: 'call_1', content: 'sunny' },
    ],
    tools: [
      { type: 'function', function: { name: 'weather', description: 'Asks', parameters: schema } },
    ],
    tool_choice: 'auto',
    max_completion_tokens: 7,
  },
  {
    messages: [
      {
        role: 'user',
        content: [
          { type: 'text', text: 'See' },
          { type: 'image_url', image_url: { url: png, detail: 'low' } },
        ],
      },
      { role: 'assistant', content: [{ type: 'refusal', refusal: 'No.' }] },
      question,
    ],
    response_format: { type: 'json_schema', json_schema: { name: 'place', schema } },
    metadata: { team: 'red' },
  },
  {
    messages: [
      {
        role: 'user',
        content: [{ type: 'input_audio', input_audio: { data: base64, format: 'wav' } }],
      },
    ],
  },
  {
    messages: [
      { role: 'user', content: [{ type: 'file', file: { file_data: pdf, filename: 'a.pdf' } }] },
    ],
    stop: ['END'],
    user: 'someone',
  },
  { messages: [question], prediction: { type: 'content', content: 'It is sunny.' } },
];

const nativeSeeds: readonly JsonObject[] = [
  {
    contents: [{ role: 'user', parts: [{ text: 'What is the weather?' }] }],
    systemInstruction: { parts: [{ text: 'Be brief.' }] },
    generationConfig: { maxOutputTokens: 7, stopSequences: ['END'], temperature: 0.5 },
    safetySettings: [],
  },
  {
    contents: [
      { role: 'user', parts: [{ text: 'What is the weather?' }] },
      {
        role: 'model',
        parts: [{ functionCall: { name: 'weather', args: { city: 'Rome', days: 2 } } }],
      },
      {
        role: 'user',
        parts: [{ functionResponse: { name: 'weather', response: { output: 'sunny' } } }],
      },
    ],
    tools: [{ functionDeclarations: [{ name: 'weather', parameters: schema }] }],
    toolConfig: { functionCallingConfig: { mode: 'AUTO' } },
  },
  {
    contents: [
      { parts: [{ text: 'See' }, { inlineData: { mimeType: 'image/png', data: base64 } }] },
      { parts: { text: 'One part by itself' } },
      { parts: [{ text: 'With null', inlineData: null }] },
    ],
    system_instruction: { parts: { text: 'Be brief.' } },
    generation_config: { max_output_tokens: 7, response_mime_type: 'application/json' },
  },
  {
    contents: [
      { role: 'model', parts: [{ text: 'Hm', thought: true, thoughtSignature: base64 }] },
      {
        role: 'user',
        parts: [{ text: '', functionResponse: { name: 'weather', response: { a: 1 } } }],
      },
    ],
    generationConfig: { responseMimeType: 'application/json', responseSchema: schema },
  },
  { contents: [{ parts: [{ inline_data: { mime_type: 'application/pdf', data: base64 } }] }] },
  {
    contents: [
      { parts: [{ fileData: { fileUri: 'https://files.example/a.png', mimeType: 'image/png' } }] },
    ],
  },
];

const sunny = { type: 'input_text', text: 'sunny' };
const image = { type: 'input_image', image_url: png, detail: 'low' };
const weather = { type: 'function', name: 'weather', description: 'Asks', parameters: schema };
const patch = { type: 'custom', name: 'patch', format: { type: 'text' } };

const responsesSeeds: readonly JsonObject[] = [
  { input: 'What is the weather?', instructions: 'Be brief.', max_output_tokens: 7 },
  {
    input: [
      question,
      { type: 'reasoning', summary: [{ type: 'summary_text', text: 'Hm' }], content: null },
      { type: 'function_call', call_id: 'call_1', name: 'weather', arguments: '{"a":1}' },
      { type: 'function_call_output', call_id: 'call_1', output: 'sunny' },
      { type: 'custom_tool_call', call_id: 'call_2', name: 'patch', input: 'add' },
      { type: 'custom_tool_call_output', call_id: 'call_2', output: [sunny] },
    ],
    tools: [weather, patch, { type: 'namespace', name: 'n', description: 'd', tools: [weather] }],
    tool_choice: 'auto',
    client_metadata: { a: 'b' },
  },
  {
    input: [
      { role: 'user', content: [{ type: 'input_text', text: 'See' }, image] },
      {
        type: 'message',
        role: 'assistant',
        content: [
          { type: 'output_text', text: 'A cat.', annotations: [], logprobs: [] },
          { type: 'refusal', refusal: 'No.' },
        ],
      },
      { type: 'function_call', call_id: 'call_1', name: 'see', arguments: '{}' },
      { type: 'function_call_output', call_id: 'call_1', output: [sunny, image] },
    ],
    text: { format: { type: 'json_schema', name: 'place', schema }, verbosity: 'low' },
    metadata: { team: 'red' },
  },
  {
    input: [
      { type: 'additional_tools', role: 'developer', tools: [weather] },
      {
        role: 'user',
        content: [{ type: 'input_audio', input_audio: { data: base64, format: 'wav' } }],
      },
      { type: 'configuration_update', reasoning: { effort: 'low' } },
    ],
  },
  {
    input: [
      {
        role: 'user',
        content: [{ type: 'input_file', file_data: pdf, filename: 'a.pdf' }],
      },
      { role: 'user', content: [{ type: 'input_file', file_url: 'https://x.example/a.pdf' }] },
      {
        type: 'reasoning',
        id: 'rs_1',
        summary: [],
        encrypted_content: 'gAAAAA'.padEnd(4_000, 'B'),
      },
      { role: 'assistant', content: 'Hi.' },
      question,
    ],
  },
  {
    input: [
      { type: 'image_generation_call', id: 'ig_1', status: 'completed', result: base64 },
      { type: 'tool_search_call', execution: 'client', call_id: 'call_3', arguments: {} },
      { type: 'tool_search_output', execution: 'client', call_id: 'call_3', tools: [weather] },
      question,
    ],
  },
  {
    input: [
      question,
      { type: 'computer_call', call_id: 'call_4', action: { type: 'screenshot' } },
      {
        type: 'computer_call_output',
        call_id: 'call_4',
        output: { type: 'computer_screenshot', image_url: png },
      },
    ],
    tools: [{ type: 'computer' }],
  },
];

const responsesAliases: readonly JsonObject[] = ['max_tokens', 'max_completion_tokens'].flatMap(
  (other) =>
    [1, 3_000, '3000', null].flatMap((first) =>
      [1, 3_000, '3000', null].flatMap((second) => [
        { input: 'hi', max_output_tokens: first, [other]: second },
        { input: 'hi', max_output_tokens: first, extra_body: { [other]: second } },
        { input: 'hi', extraBody: { [other]: second } },
      ]),
    ),
);

const responsesRow = {
  name: 'responses',
  requests: [
    { path: '/v1/responses', members: { model: 'm' } },
    { path: '/v1/responses', members: { model: 'm', stream: true } },
  ],
  seeds: responsesSeeds,
  aliases: responsesAliases,
} as const;

const bounds = ['max_tokens', 'max_completion_tokens', 'max_new_tokens', 'n_predict'] as const;
const configs = ['generationConfig', 'generation_config'] as const;
const bound = ['maxOutputTokens', 'max_output_tokens'] as const;
const values = [1, 3_000, '3000', null] as const;

const chatAliases: readonly JsonObject[] = bounds.flatMap((one) =>
  bounds.flatMap((other) =>
    values.flatMap((first) =>
      values.map((second) => ({ messages: [question], [one]: first, [other]: second })),
    ),
  ),
);

/** The same bound and count again, in a member that some servers merge into the body. */
const mergedAliases: readonly JsonObject[] = ['extra_body', 'extraBody'].flatMap((holder) => [
  ...bounds.flatMap((one) =>
    bounds.map((other) => ({ messages: [question], [one]: 1, [holder]: { [other]: 3_000 } })),
  ),
  { messages: [question], [holder]: { n: 3 } },
  { messages: [question], n: 1, [holder]: { n: 3, best_of: 3 } },
]);

const nativeAliases: readonly JsonObject[] = configs.flatMap((one) =>
  bound.flatMap((name) =>
    bound.flatMap((other) =>
      values.flatMap((first) =>
        values.map((second) => ({
          contents: [{ parts: [{ text: 'hi' }] }],
          ...(one === 'generationConfig'
            ? { generationConfig: { [name]: first, [other]: second } }
            : { generationConfig: { [name]: first }, [one]: { [other]: second } }),
        })),
      ),
    ),
  ),
);

/** Every protocol. */
export const protocolRows: readonly ProtocolRow[] = [
  {
    name: 'chat',
    requests: [
      { path: '/v1/chat/completions', members: { model: 'm' } },
      { path: '/v1/chat/completions', members: { model: 'm', stream: true } },
    ],
    dialects: dialectNames,
    seeds: chatSeeds,
    aliases: [
      ...chatAliases,
      ...mergedAliases,
      ...[{ n: 3 }, { n: '3' }, { best_of: 3 }, { n: 1, best_of: 3 }, { candidate_count: 3 }].map(
        (members) => ({ messages: [question], ...members }),
      ),
    ],
  },
  {
    name: 'native',
    requests: [
      { path: '/v1beta/models/m:generateContent', members: {} },
      { path: '/v1beta/models/m:streamGenerateContent', search: 'alt=sse', members: {} },
    ],
    dialects: dialectNames,
    seeds: nativeSeeds,
    aliases: [
      ...nativeAliases,
      ...configs.map((name) => ({
        contents: [{ parts: [{ text: 'hi' }] }],
        [name]: { candidateCount: 1, candidate_count: 3 },
      })),
    ],
  },
  {
    ...responsesRow,
    served: 'relayed, or translated for other providers',
    dialects: dialectNames,
  },
  {
    ...responsesRow,
    served: 'translated for chat completions',
    capabilities: { responses: false },
    dialects: ['openai'],
  },
  {
    name: 'messages',
    requests: [
      { path: '/v1/messages', members: { model: 'm' } },
      { path: '/v1/messages', members: { model: 'm', stream: true } },
    ],
    dialects: ['anthropic', 'openai', 'gemini'],
    seeds: messagesSeeds,
    aliases: messagesAliases,
  },
  {
    name: 'images',
    requests: [{ path: '/v1/images/generations', members: { model: 'm' } }],
    dialects: ['openai', 'gemini'],
    seeds: [{ prompt: 'a cat', n: 1, size: '1024x1024', user: 'someone', style: 'vivid' }],
    aliases: [
      { n: 2 },
      { n: '2' },
      { num_images: 2 },
      { n: 1, batch_size: 2 },
      { n: 1, extra_body: { n: 4 } },
      { extraBody: { n: 4 } },
    ].map((members) => ({ prompt: 'a cat', ...members })),
  },
];
