/** Sampling, limits and other settings of a request. */

import { createHash } from 'node:crypto';
import { builtIn, tool } from './parts.ts';
import { both, invalid, loses, type RequestRow, reads, refusesIt, writes } from './request-rows.ts';

const config = (members: object) => both({ generationConfig: { ...members } });
const reasons = (members: object) => ({
  reasoning: {
    effort: undefined,
    budgetTokens: undefined,
    includeThoughts: undefined,
    ...members,
  },
});
const own = (provider: string, name: string, value: object | string, vital = false, at = name) => ({
  provider,
  name,
  value: value as never,
  at,
  vital,
});
const long = 'u'.repeat(65);
const sha256 = (value: string) => createHash('sha256').update(value).digest('hex');
const haiku = 'claude-3-haiku';
const sonnet = 'claude-sonnet-4-5';

/** Settings of numbers, lists and names. */
export const settings: readonly RequestRow[] = [
  {
    is: 'nothing but a question',
    request: {},
    chat: [
      both({}),
      writes({}, 'gpt-5.6'),
      reads({ temperature: null, n: null, stop: null, tool_choice: null }),
    ],
    responses: [
      reads({}),
      reads({ text: {}, reasoning: {}, top_logprobs: 0, store: false, metadata: { team: 'a' } }),
      reads({ background: false, truncation: 'disabled', service_tier: 'auto', include: [] }),
      reads({ service_tier: 'default', tool_choice: 'none', parallel_tool_calls: false }),
      reads({ reasoning: { context: 'current_turn', mode: 'standard' }, max_tool_calls: 3 }),
      reads({ reasoning: { context: 'auto' }, tool_choice: 'auto', client_metadata: { a: 't' } }),
      reads({ include: ['reasoning.encrypted_content', 'message.input_image.image_url'] }),
      reads({ include: ['web_search_call.results'], prompt_cache_options: { prewarm: false } }),
      reads({ stream_options: { include_obfuscation: true }, text: { format: { type: 'text' } } }),
    ],
    messages: [
      both({}),
      reads({ speed: 'standard', inference_geo: 'global', mcp_servers: [], fallbacks: [] }),
      reads({ context_management: { edits: [] }, output_config: {}, metadata: {} }),
      reads({ tool_choice: { type: 'auto', disable_parallel_tool_use: false } }),
      reads({ tool_choice: { type: 'none' }, stop_sequences: [], temperature: -1 }),
      reads({ top_p: -1, top_k: -1 }),
    ],
    gemini: [
      both({}),
      reads({ tools: [], safetySettings: [], labels: {}, systemInstruction: '' }),
      reads({ toolConfig: { functionCallingConfig: { mode: 'MODE_UNSPECIFIED' } } }),
      reads({ generationConfig: { stopSequences: [], responseModalities: [], speechConfig: {} } }),
      reads({ generationConfig: { responseMimeType: 'text/plain' } }),
    ],
  },
  {
    is: 'a stream',
    request: { streamed: true },
    chat: [
      writes({ stream: true, stream_options: { include_usage: true } }),
      writes({ stream: true }, { includeUsage: false }),
    ],
    messages: writes({ stream: true }),
    gemini: writes({}),
  },
  {
    is: 'a limit of the output',
    request: { maxOutputTokens: 5 },
    chat: [
      both({ max_completion_tokens: 5 }, { names: { maxOutputTokens: 'max_completion_tokens' } }),
      reads({ max_tokens: 5 }, { names: { maxOutputTokens: 'max_tokens' } }),
      writes({ max_tokens: 5 }, { maxTokensField: 'max_tokens' }),
    ],
    responses: reads({ max_output_tokens: 5 }),
    messages: [both({ max_tokens: 5 }), writes({ max_tokens: 5 }, { limit: 9 })],
    gemini: [
      both({ generationConfig: { maxOutputTokens: 5 } }),
      reads({ generationConfig: { maxOutputTokens: '5' } }),
    ],
  },
  {
    is: 'no limit of the output, but one in the catalog',
    request: {},
    messages: writes({ max_tokens: 9 }, { limit: 9 }),
  },
  {
    is: 'a temperature and top_p of 0',
    request: { temperature: 0, topP: 0 },
    chat: [
      both({ temperature: 0, top_p: 0 }),
      writes({}, { sampling: 'none' }, 'temperature', 'top_p'),
      writes({ temperature: 0 }, { sampling: 'one' }, 'top_p'),
    ],
    responses: reads({ temperature: 0, top_p: 0 }),
    messages: [
      reads({ temperature: 0, top_p: 0 }),
      writes({ temperature: 0, top_p: 0 }, haiku),
      writes({ temperature: 0 }, sonnet, 'top_p'),
      loses(['temperature', 'top_p']),
    ],
    gemini: [
      config({ temperature: 0, topP: 0 }),
      reads({ generationConfig: { temperature: '0', topP: 0 } }),
    ],
  },
  {
    is: 'top_p alone',
    request: { topP: 1 },
    chat: writes({ top_p: 1 }, { sampling: 'one' }),
    messages: writes({ top_p: 1 }, sonnet),
  },
  {
    is: 'a temperature beyond 2',
    request: { temperature: 3 },
    messages: writes({ temperature: 1 }, haiku, 'temperature'),
    gemini: writes({ generationConfig: { temperature: 2 } }, undefined, 'temperature'),
  },
  {
    is: 'top_k',
    request: { topK: 4 },
    chat: [reads({ top_k: 4 }), writes({ top_k: 4 }, { topK: true }), loses(['top_k'])],
    messages: [reads({ top_k: 4 }), writes({ top_k: 4 }, haiku), loses(['top_k'])],
    gemini: config({ topK: 4 }),
  },
  {
    is: 'a seed of 0',
    request: { seed: 0 },
    chat: [both({ seed: 0 }), loses(['seed'], { seed: false })],
    responses: reads({ seed: 0 }, { lost: ['seed'], read: { seed: undefined } }),
    messages: loses(['seed']),
    gemini: config({ seed: 0 }),
  },
  {
    is: 'a seed of 33 bits',
    request: { seed: 2 ** 32 + 7 },
    gemini: writes({ generationConfig: { seed: 7 } }, undefined, 'seed'),
  },
  {
    is: 'penalties',
    request: { presencePenalty: 0.5, frequencyPenalty: -1 },
    chat: [
      both({ presence_penalty: 0.5, frequency_penalty: -1 }),
      loses(['presence_penalty', 'frequency_penalty'], { penalties: false }),
    ],
    messages: loses(['presence_penalty', 'frequency_penalty']),
    gemini: [
      reads({ generationConfig: { presencePenalty: 0.5, frequencyPenalty: -1 } }),
      writes(
        { generationConfig: { presencePenalty: 0.5, frequencyPenalty: -1 } },
        'gemini-2.0-flash',
      ),
      loses(['presence_penalty', 'frequency_penalty']),
    ],
  },
  {
    is: 'penalties of 0',
    request: { presencePenalty: 0, frequencyPenalty: 0 },
    chat: loses([], { penalties: false }),
    messages: loses([]),
    gemini: loses([]),
  },
  {
    is: 'stop sequences, one of them empty',
    request: { stop: ['END', '', 'b', ' '] },
    chat: [
      reads({ stop: ['END', '', 'b', ' '] }),
      writes({ stop: ['END', 'b', ' '] }, undefined, 'stop'),
      writes({ stop: ['END', 'b'] }, { stopLimit: 2 }, 'stop'),
      loses(['stop'], { stopLimit: 0 }),
    ],
    responses: reads({ stop: ['END'] }, { lost: ['stop'], read: { stop: [] } }),
    messages: [
      reads({ stop_sequences: ['END', '', 'b', ' '] }),
      writes({ stop_sequences: ['END', 'b'] }, undefined, 'stop'),
      writes({ stop_sequences: ['END'] }, { stopLimit: 1 }, 'stop'),
    ],
    gemini: [
      reads({ generationConfig: { stopSequences: ['END', '', 'b', ' '] } }),
      writes({ generationConfig: { stopSequences: ['END', 'b', ' '] } }, undefined, 'stop'),
    ],
  },
  {
    is: 'one stop sequence',
    request: { stop: ['a'] },
    chat: [both({ stop: ['a'] }), reads({ stop: 'a' })],
    messages: both({ stop_sequences: ['a'] }),
    gemini: config({ stopSequences: ['a'] }),
  },
  {
    is: 'more stop sequences than a model takes',
    request: { stop: [...'abcdef'] },
    chat: writes({ stop: [...'abcd'] }, undefined, 'stop'),
    gemini: writes({ generationConfig: { stopSequences: [...'abcde'] } }, undefined, 'stop'),
  },
  {
    is: 'log probabilities',
    request: { logprobs: { top: 3 } },
    chat: [
      both({ logprobs: true, top_logprobs: 3 }),
      loses(['logprobs'], { logprobs: false }),
      invalid({ top_logprobs: 2 }, 'top_logprobs'),
    ],
    responses: reads({ top_logprobs: 3 }),
    messages: loses(['logprobs']),
    gemini: [
      config({ responseLogprobs: true, logprobs: 3 }),
      reads(
        { generationConfig: { logprobs: 3 } },
        { lost: ['generationConfig.logprobs'], read: { logprobs: undefined } },
      ),
    ],
  },
  {
    is: 'log probabilities without alternatives',
    request: { logprobs: { top: undefined } },
    chat: both({ logprobs: true }),
    responses: reads(
      { include: ['message.output_text.logprobs'] },
      { names: { logprobs: 'include[0]' } },
    ),
    gemini: config({ responseLogprobs: true }),
  },
  {
    is: 'more alternatives than there are',
    request: { logprobs: { top: 30 } },
    chat: writes({ logprobs: true, top_logprobs: 20 }, undefined, 'logprobs'),
    gemini: writes({ generationConfig: { responseLogprobs: true, logprobs: 20 } }, '', 'logprobs'),
  },
  {
    is: 'two candidates',
    request: { candidates: 2 },
    chat: [both({ n: 2 }), refusesIt('n', { maxCandidates: 1 })],
    responses: reads({ n: 2 }, { lost: ['n'], read: { candidates: 1 } }),
    messages: refusesIt('n'),
    gemini: [
      reads({ generationConfig: { candidateCount: 2 } }),
      writes({ generationConfig: { candidateCount: 2 } }, 'gemini-2.5-flash'),
      refusesIt('n'),
    ],
  },
  {
    is: 'nine candidates',
    request: { candidates: 9 },
    gemini: refusesIt('n', 'gemini-2.5-flash'),
  },
  {
    is: 'two candidates in a stream',
    request: { candidates: 2, streamed: true },
    chat: refusesIt('n', { streamedCandidates: false }),
    gemini: refusesIt('n', 'gemini-2.5-flash'),
  },
  {
    is: 'text output',
    request: { modalities: ['text'] },
    chat: [reads({ modalities: ['text'] }), writes({})],
    messages: writes({}),
    gemini: [reads({ generationConfig: { responseModalities: ['TEXT'] } }), writes({})],
  },
  {
    is: 'image output',
    request: { modalities: ['text', 'image'] },
    chat: [
      reads({ modalities: ['text', 'image'] }),
      writes({ modalities: ['text', 'image'] }, { mediaOutput: true }),
      refusesIt('modalities'),
    ],
    messages: refusesIt('modalities'),
    gemini: [
      reads({ generationConfig: { responseModalities: ['text', 'MODALITY_IMAGE'] } }),
      reads({
        generationConfig: { responseModalities: ['TEXT', 'IMAGE', 'MODALITY_UNSPECIFIED'] },
      }),
      writes(
        { generationConfig: { responseModalities: ['TEXT', 'IMAGE'] } },
        { mediaOutput: true },
      ),
      refusesIt('modalities'),
    ],
  },
  {
    is: 'audio output',
    request: { modalities: ['text', 'audio'], streamed: true },
    chat: writes(
      {
        ...{ stream: true, stream_options: { include_usage: true } },
        ...{ modalities: ['text', 'audio'], audio: { voice: 'alloy', format: 'pcm16' } },
      },
      { mediaOutput: true },
    ),
    messages: refusesIt('modalities'),
    gemini: writes({ generationConfig: { responseModalities: ['AUDIO'] } }, { mediaOutput: true }),
  },
  {
    is: 'the id of the end user',
    request: { endUserId: 'u' },
    chat: [
      both({ user: 'u' }, { names: { endUserId: 'user' } }),
      reads({ safety_identifier: 'u' }, { names: { endUserId: 'safety_identifier' } }),
    ],
    responses: [
      reads({ user: 'u' }),
      reads({ safety_identifier: 'u' }, { names: { endUserId: 'safety_identifier' } }),
      reads({ safety_identifier: 'u', user: 'u' }, { names: { endUserId: 'safety_identifier' } }),
      reads(
        { safety_identifier: 'u', user: 'b' },
        { names: { endUserId: 'safety_identifier' }, lost: ['user'] },
      ),
    ],
    messages: [
      writes({ metadata: { user_id: 'u' } }),
      reads({ metadata: { user_id: 'u' } }, { read: { promptCacheKey: sha256('u').slice(0, 32) } }),
      reads(
        { metadata: { user_id: long } },
        { read: { endUserId: sha256(long), promptCacheKey: sha256(long).slice(0, 32) } },
      ),
    ],
    gemini: loses(['user']),
  },
  {
    is: 'the tier flex',
    request: { serviceTier: 'flex' },
    chat: both({ service_tier: 'flex' }),
    responses: reads({ service_tier: 'flex' }),
    messages: loses(['service_tier']),
    gemini: [
      reads({ serviceTier: 'SERVICE_TIER_FLEX' }),
      reads({ serviceTier: 'flex' }),
      loses(['service_tier']),
    ],
  },
  {
    is: 'the usual tier',
    request: { serviceTier: 'default' },
    chat: both({ service_tier: 'default' }),
    messages: [both({ service_tier: 'standard_only' })],
    gemini: [reads({ serviceTier: 'standard' }), writes({})],
  },
  {
    is: 'the tier auto',
    request: { serviceTier: 'auto' },
    chat: both({ service_tier: 'auto' }),
    messages: both({ service_tier: 'auto' }),
  },
  {
    is: 'a tier that nobody has',
    request: { serviceTier: 'constructor' },
    chat: loses(['service_tier']),
    messages: loses(['service_tier']),
    gemini: [
      reads({ serviceTier: 'warp' }, { lost: ['serviceTier'], read: { serviceTier: undefined } }),
      loses(['service_tier']),
    ],
  },
  {
    is: 'the verbosity',
    request: { verbosity: 'low' },
    chat: [reads({ verbosity: 'low' }), writes({ verbosity: 'low' }, 'gpt-5.4')],
    responses: reads({ text: { verbosity: 'low' } }),
    messages: loses(['verbosity']),
    gemini: loses(['verbosity']),
  },
  {
    is: 'the key of a cache',
    request: { promptCacheKey: 'k' },
    chat: [writes({ prompt_cache_key: 'k' }), loses([], { promptCacheKey: false })],
    responses: reads({ prompt_cache_key: 'k' }),
    messages: writes({}),
    gemini: writes({}),
  },
  {
    is: 'one call at a time, without tools',
    request: { tools: [], parallelToolCalls: false },
    chat: [reads({ parallel_tool_calls: false }), loses(['parallel_tool_calls'])],
    messages: loses(['parallel_tool_calls']),
    gemini: loses(['parallel_tool_calls']),
  },
  {
    is: 'members that the reader dropped, and the same again',
    request: { dropped: ['store', 'top_k'], topK: 4, endUserId: 'u' },
    chat: writes({ user: 'u' }, undefined, 'store', 'top_k'),
    messages: writes({ metadata: { user_id: 'u' } }, undefined, 'store', 'top_k'),
    gemini: writes({ generationConfig: { topK: 4 } }, undefined, 'store', 'top_k', 'user'),
  },
];

const safety = [{ category: 'A', threshold: 'B' }];

/** Members that only one provider understands. */
export const providerMembers: readonly RequestRow[] = [
  {
    is: 'safety settings',
    request: { providerMembers: [own('gemini', 'safetySettings', safety)] },
    chat: [
      reads({ safety_settings: safety }),
      reads({ extra_body: { safety_settings: safety } }),
      reads({ extra_body: { google: { safety_settings: safety } } }),
      loses(['safetySettings']),
    ],
    messages: loses(['safetySettings']),
    gemini: both({ safetySettings: safety }),
  },
  {
    is: 'cached content',
    request: { providerMembers: [own('gemini', 'cachedContent', 'c/1', true)] },
    chat: [
      reads({ extra_body: { google: { cached_content: 'c/1' } } }),
      refusesIt('cachedContent'),
    ],
    messages: refusesIt('cachedContent'),
    gemini: both({ cachedContent: 'c/1' }),
  },
  {
    is: 'a thinking config beside an effort',
    request: {
      ...reasons({ effort: 'low', includeThoughts: true }),
      providerMembers: [own('gemini', 'thinkingConfig', { thinkingBudget: 7 })],
    },
    chat: reads({
      reasoning_effort: 'low',
      extra_body: { google: { thinking_config: { thinking_budget: 7 } } },
    }),
    gemini: writes({
      generationConfig: { thinkingConfig: { thinkingBudget: 7, includeThoughts: true } },
    }),
  },
  {
    is: 'the voice',
    request: {
      providerMembers: [
        own('gemini', 'speechConfig', {
          voiceConfig: { prebuiltVoiceConfig: { voiceName: 'Kore' } },
        }),
      ],
    },
    chat: reads({ audio: { voice: 'Kore' } }),
    messages: loses(['speechConfig']),
  },
  {
    is: 'labels and settings of media',
    request: {
      providerMembers: [
        own('gemini', 'labels', { team: 'a' }),
        own('gemini', 'speechConfig', { languageCode: 'en' }),
        own('gemini', 'mediaResolution', 'LOW'),
      ],
    },
    chat: loses(['labels', 'speechConfig', 'mediaResolution']),
    gemini: [
      both({
        labels: { team: 'a' },
        generationConfig: { speechConfig: { languageCode: 'en' }, mediaResolution: 'LOW' },
      }),
    ],
  },
  {
    is: 'output that only Google has',
    request: {
      providerMembers: [
        own('gemini', 'responseFormat[0].image', { aspectRatio: '1:1' }, true),
        own('gemini', 'responseMimeType', 'application/yaml', true),
        own('gemini', 'responseModalities', ['VIDEO'], true),
      ],
    },
    chat: refusesIt('responseFormat[0].image'),
    gemini: reads({
      generationConfig: {
        responseMimeType: 'application/yaml',
        responseFormat: [{ image: { aspectRatio: '1:1' } }],
        responseModalities: ['VIDEO'],
      },
    }),
  },
  {
    is: 'a member of OpenAI',
    request: { providerMembers: [own('openai', 'prediction', 'low')] },
    chat: writes({ prediction: 'low' }),
    messages: loses(['prediction']),
    gemini: loses(['prediction']),
  },
  {
    is: 'members of Anthropic, one of which is the gateway’s',
    request: {
      providerMembers: [
        own('anthropic', 'context_management', 'x'),
        own('anthropic', 'model', 'x'),
      ],
    },
    chat: loses(['context_management', 'model']),
    messages: writes({ context_management: 'x' }, undefined, 'model'),
    gemini: loses(['context_management', 'model']),
  },
  {
    is: 'a tool of a provider beside a choice',
    request: { tools: [tool('f'), builtIn('gemini', 'googleSearch')] },
    chat: refusesIt('tools[1]'),
    messages: refusesIt('tools[1]'),
    gemini: refusesIt('tools[1]', 'gemini-2.5-flash'),
  },
];
