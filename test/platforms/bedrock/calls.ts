/** What the tests send to Bedrock. */
import type Anthropic from '@anthropic-ai/sdk';

export const region = 'us-west-2';
export const apiKey = 'bedrock-api-key-0123456789';
export const keys = {
  accessKeyId: 'AKIAIOSFODNN7EXAMPLE',
  secretAccessKey: 'wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY',
  sessionToken: 'FwoGZXIvYXdzEXAMPLETOKEN//////////wEaD',
};
export const workspaceId = 'wrkspc_0123456789';
export const modelId = 'us.anthropic.claude-sonnet-4-5-20250929-v1:0';
export const arn = `arn:aws:bedrock:us-west-2:123456789012:inference-profile/${modelId}`;

export type MessageParams = Omit<Anthropic.MessageCreateParamsNonStreaming, 'model'>;

export const hello: MessageParams = {
  max_tokens: 64,
  messages: [{ role: 'user', content: 'Hello!' }],
};
const png =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5E' +
  'rkJggg==';

/** A call of each kind. */
export const calls: Readonly<Record<string, MessageParams>> = {
  text: hello,
  'a system prompt and settings': {
    ...hello,
    system: [{ type: 'text', text: 'Be brief.', cache_control: { type: 'ephemeral' } }],
    service_tier: 'standard_only',
    stop_sequences: ['END'],
    metadata: { user_id: 'u-1' },
  },
  tools: {
    ...hello,
    tools: [
      {
        name: 'weather',
        description: 'The weather in a city',
        input_schema: { type: 'object', properties: { city: { type: 'string' } } },
      },
    ],
    tool_choice: { type: 'auto' },
    messages: [
      { role: 'user', content: 'Weather in Rome?' },
      {
        role: 'assistant',
        content: [{ type: 'tool_use', id: 'toolu_1', name: 'weather', input: { city: 'Rome' } }],
      },
      {
        role: 'user',
        content: [{ type: 'tool_result', tool_use_id: 'toolu_1', content: 'Sunny' }],
      },
    ],
  },
  images: {
    ...hello,
    messages: [
      {
        role: 'user',
        content: [
          { type: 'image', source: { type: 'base64', media_type: 'image/png', data: png } },
          { type: 'text', text: 'What is this?' },
        ],
      },
    ],
  },
  thinking: { ...hello, max_tokens: 2_000, thinking: { type: 'enabled', budget_tokens: 1_024 } },
};
