/** The requests of a coding agent: its headers, system blocks, tools and turns. */
import type { JsonObject, JsonValue } from '../../src/json.ts';

/** The key that a user of the agent has at Anthropic. It must not be sent anywhere. */
export const ownKey = 'sk-ant-users-own-key-0123456789';

/** The flags of the beta features that the agent uses. */
export const betas =
  'claude-code-20250219,interleaved-thinking-2025-05-14,context-management-2025-06-27';

/** The name of the session, in a header and in `metadata`. */
export const session = '7f3c1c1e-0a4b-4a52-9a53-5f4b8f0c2d11';

/** The headers of every request of a session. */
export function agentHeaders(secret: string): Readonly<Record<string, string>> {
  return {
    accept: 'application/json',
    'content-type': 'application/json',
    'user-agent': 'coding-agent/2.1 (external, cli)',
    'x-app': 'cli',
    'anthropic-dangerous-direct-browser-access': 'true',
    'anthropic-version': '2023-06-01',
    'anthropic-beta': betas,
    authorization: `Bearer ${secret}`,
    'x-api-key': ownKey,
    'x-claude-code-session-id': session,
    'x-claude-code-agent-id': 'agent-1',
    'x-stainless-lang': 'js',
    'x-stainless-retry-count': '0',
    'x-stainless-timeout': '600',
  };
}

const marker = { cache_control: { type: 'ephemeral' } };

/** The line that changes with each request, so that no prompt with it can be cached. */
export function billingLine(request: number): string {
  return `x-anthropic-billing-header: cc_version=2.1; cc_entrypoint=cli; cch=${request};`;
}

const tools = [
  {
    name: 'Bash',
    description: 'Runs a command.',
    input_schema: {
      $schema: 'http://json-schema.org/draft-07/schema#',
      type: 'object',
      properties: {
        command: { type: 'string' },
        timeout: { type: 'number', description: 'Milliseconds.' },
      },
      required: ['command'],
      additionalProperties: false,
    },
    eager_input_streaming: true,
  },
  {
    name: 'Read',
    description: 'Reads a file.',
    input_schema: {
      type: 'object',
      properties: { file_path: { type: 'string' }, offset: { type: 'integer' } },
      required: ['file_path'],
      additionalProperties: false,
    },
    eager_input_streaming: true,
    ...marker,
  },
];

/** The members of a request that count_tokens accepts too. */
function prompt(model: string, messages: readonly JsonObject[], request: number): JsonObject {
  return {
    model,
    system: [
      { type: 'text', text: billingLine(request) },
      { type: 'text', text: 'You are a coding agent.', ...marker },
      { type: 'text', text: 'The working directory is /work.', ...marker },
    ],
    tools,
    thinking: { type: 'enabled', budget_tokens: 16_000 },
    messages: marked(messages),
  };
}

/** The last block of the conversation is marked for the cache. */
function marked(messages: readonly JsonObject[]): readonly JsonValue[] {
  return messages.map((message, index) => {
    const { content } = message;
    if (index < messages.length - 1 || !Array.isArray(content)) return message;
    const blocks: readonly JsonObject[] = content;
    return {
      ...message,
      content: blocks.map((block, at) =>
        at === blocks.length - 1 ? { ...block, ...marker } : block,
      ),
    };
  });
}

/** A request of the agent's conversation. */
export function mainRequest(
  model: string,
  messages: readonly JsonObject[],
  request: number,
): JsonObject {
  return {
    ...prompt(model, messages, request),
    max_tokens: 32_000,
    stream: true,
    metadata: { user_id: `user_1_account__session_${session}` },
    context_management: { edits: [{ type: 'clear_thinking_20251015', keep: 'all' }] },
  };
}

/** The count of tokens that the agent requests before a call, so that it summarises in time. */
export function countRequest(model: string, messages: readonly JsonObject[]): JsonObject {
  return prompt(model, messages, 0);
}

/** A background request to a small model, such as a title for the conversation. */
export function backgroundRequest(model: string): JsonObject {
  return {
    model,
    max_tokens: 512,
    temperature: 0,
    system: [
      { type: 'text', text: billingLine(9) },
      { type: 'text', text: 'Write a short title.' },
    ],
    messages: [{ role: 'user', content: 'List the files.' }],
    metadata: { user_id: `user_1_account__session_${session}` },
    stream: true,
  };
}

/** The request with which an agent checks, at its start, that it may call a model at all. */
export function probeRequest(model: string): JsonObject {
  return { model, max_tokens: 1, messages: [{ role: 'user', content: 'quota' }] };
}
