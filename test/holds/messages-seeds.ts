/** Valid bodies of Messages requests, with every kind of content that a prompt may have. */
import type { JsonObject } from '../../src/json.ts';

const base64 = 'iVBORw0KGgo'.padEnd(4_000, 'A');
const image = {
  type: 'image',
  source: { type: 'base64', media_type: 'image/png', data: base64 },
} as const;
const pdf = {
  type: 'document',
  source: { type: 'base64', media_type: 'application/pdf', data: base64 },
  title: 'A paper',
} as const;
const schema: JsonObject = {
  type: 'object',
  properties: { city: { type: 'string', enum: ['Paris', 'Rome'] }, days: { type: 'integer' } },
  required: ['city'],
};
const question = { role: 'user', content: 'What is the weather?' } as const;

/** Each is complete but for the model. */
export const messagesSeeds: readonly JsonObject[] = [
  {
    system: [{ type: 'text', text: 'Be brief.', cache_control: { type: 'ephemeral', ttl: '1h' } }],
    messages: [question, { role: 'assistant', content: 'It is' }, question],
    max_tokens: 7,
    metadata: { user_id: 'someone' },
    stop_sequences: ['END'],
  },
  {
    messages: [
      question,
      {
        role: 'assistant',
        content: [
          { type: 'thinking', thinking: 'Hm', signature: 'ErUB'.padEnd(400, 'A') },
          { type: 'redacted_thinking', data: 'EmwK'.padEnd(400, 'A') },
          { type: 'text', text: 'Let me see.' },
          { type: 'tool_use', id: 'toolu_1', name: 'weather', input: { city: 'Rome', days: 2 } },
        ],
      },
      {
        role: 'user',
        content: [
          {
            type: 'tool_result',
            tool_use_id: 'toolu_1',
            content: [{ type: 'text', text: 'sunny' }, image],
          },
          { type: 'text', text: 'And now?' },
        ],
      },
    ],
    tools: [{ name: 'weather', description: 'Asks', input_schema: schema }],
    tool_choice: { type: 'auto' },
    max_tokens: 7,
  },
  {
    messages: [
      { role: 'user', content: [image, pdf, { type: 'text', text: 'See' }] },
      {
        role: 'user',
        content: [
          { type: 'image', source: { type: 'url', url: 'https://files.example/a.png' } },
          { type: 'document', source: { type: 'url', url: 'https://files.example/a.pdf' } },
        ],
      },
    ],
    output_config: { format: { type: 'json_schema', schema } },
    max_tokens: 7,
  },
  {
    messages: [
      {
        role: 'user',
        content: [
          { type: 'document', source: { type: 'text', media_type: 'text/plain', data: 'words' } },
          {
            type: 'document',
            source: { type: 'content', content: [{ type: 'text', text: 'See' }, image] },
            citations: { enabled: true },
          },
          {
            type: 'search_result',
            source: 'https://x.example',
            title: 'A page',
            content: [{ type: 'text', text: 'found' }],
          },
        ],
      },
    ],
    thinking: { type: 'adaptive' },
    max_tokens: 7,
  },
];

/** The same bound by another name, or of another type. */
export const messagesAliases: readonly JsonObject[] = [
  ...['max_output_tokens', 'max_completion_tokens', 'max_tokens_to_sample'],
].flatMap((other) =>
  [1, 3_000, '3000', null].flatMap((first) =>
    [1, 3_000, '3000', null].flatMap((second) => [
      { messages: [question], max_tokens: first, [other]: second },
      { messages: [question], max_tokens: first, extra_body: { [other]: second } },
    ]),
  ),
);
