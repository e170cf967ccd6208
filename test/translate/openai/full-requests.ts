/** One request of each API of callers, with every setting that most models accept. */

const schema = {
  type: 'object',
  properties: { city: { type: 'string' } },
  required: ['city'],
  additionalProperties: false,
};
const format = { name: 'answer', schema, strict: true };
const stops = Array.from({ length: 20 }, (_, at) => `stop${at}`);
const call = JSON.stringify({ city: 'Rome' });

const chat = {
  model: 'm',
  stream: true,
  messages: [
    { role: 'system', content: 'Be brief.' },
    { role: 'user', content: 'Weather?' },
    {
      role: 'assistant',
      content: 'Let me see.',
      reasoning_content: 'Hm.',
      tool_calls: [{ id: 'call_1', type: 'function', function: { name: 'f', arguments: call } }],
    },
    { role: 'tool', tool_call_id: 'call_1', content: 'Sunny' },
  ],
  tools: [
    ...['f', 'g'].map((name) => ({
      type: 'function',
      function: { name, parameters: schema, strict: true },
    })),
    { type: 'custom', custom: { name: 'h' } },
  ],
  tool_choice: {
    type: 'allowed_tools',
    allowed_tools: {
      mode: 'auto',
      tools: [
        { type: 'function', function: { name: 'f' } },
        { type: 'function', function: { name: 'g' } },
      ],
    },
  },
  parallel_tool_calls: false,
  response_format: { type: 'json_schema', json_schema: format },
  max_completion_tokens: 9,
  temperature: 0.5,
  top_p: 0.5,
  top_k: 40,
  presence_penalty: 0.5,
  frequency_penalty: 0.5,
  seed: 1,
  stop: stops,
  logprobs: true,
  top_logprobs: 3,
  reasoning_effort: 'medium',
  user: 'u1',
  service_tier: 'priority',
  verbosity: 'low',
  prompt_cache_key: 'k1',
};

const responses = {
  model: 'm',
  stream: true,
  store: false,
  instructions: 'Be brief.',
  input: [
    { role: 'user', content: 'Weather?' },
    { type: 'function_call', call_id: 'call_1', name: 'f', arguments: call },
    { type: 'function_call_output', call_id: 'call_1', output: 'Sunny' },
  ],
  tools: [
    { type: 'function', name: 'f', parameters: schema, strict: true },
    { type: 'custom', name: 'h' },
  ],
  tool_choice: 'required',
  parallel_tool_calls: false,
  text: { format: { type: 'json_schema', ...format }, verbosity: 'low' },
  max_output_tokens: 9,
  temperature: 0.5,
  top_p: 0.5,
  include: ['message.output_text.logprobs'],
  top_logprobs: 3,
  reasoning: { effort: 'medium' },
  safety_identifier: 'u1',
  service_tier: 'priority',
  prompt_cache_key: 'k1',
};

const messages = {
  model: 'm',
  stream: true,
  max_tokens: 9,
  system: 'Be brief.',
  messages: [
    { role: 'user', content: 'Weather?' },
    {
      role: 'assistant',
      content: [
        { type: 'thinking', thinking: 'Hm.', signature: 'c2ln' },
        { type: 'tool_use', id: 'toolu_1', name: 'f', input: { city: 'Rome' } },
      ],
    },
    {
      role: 'user',
      content: [{ type: 'tool_result', tool_use_id: 'toolu_1', content: 'Sunny' }],
    },
  ],
  tools: ['f', 'g'].map((name) => ({ name, input_schema: schema, strict: true })),
  tool_choice: { type: 'tool', name: 'f', disable_parallel_tool_use: true },
  output_config: { effort: 'medium', format: { type: 'json_schema', schema } },
  temperature: 0.5,
  top_p: 0.5,
  top_k: 40,
  stop_sequences: stops,
  metadata: { user_id: 'u1' },
};

const native = {
  systemInstruction: { parts: [{ text: 'Be brief.' }] },
  contents: [
    { role: 'user', parts: [{ text: 'Weather?' }] },
    {
      role: 'model',
      parts: [
        { text: 'Hm.', thought: true },
        { functionCall: { name: 'f', args: { city: 'Rome' } } },
      ],
    },
    { role: 'user', parts: [{ functionResponse: { name: 'f', response: { result: 'Sunny' } } }] },
  ],
  tools: [
    { functionDeclarations: ['f', 'g'].map((name) => ({ name, parametersJsonSchema: schema })) },
  ],
  toolConfig: { functionCallingConfig: { mode: 'VALIDATED', allowedFunctionNames: ['f'] } },
  generationConfig: {
    maxOutputTokens: 9,
    temperature: 0.5,
    topP: 0.5,
    topK: 40,
    presencePenalty: 0.5,
    frequencyPenalty: 0.5,
    seed: 1,
    stopSequences: stops,
    responseLogprobs: true,
    logprobs: 3,
    responseMimeType: 'application/json',
    responseJsonSchema: schema,
    thinkingConfig: { thinkingLevel: 'medium' },
  },
  serviceTier: 'PRIORITY',
};

/** The requests, by the API. */
export const fullRequests = { chat, responses, messages, native } as const;
