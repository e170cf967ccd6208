/** Request features of the answer: its form, its length, its sampling, and how hard to think. */
import type { JsonObject } from '../../../src/json.ts';
import { plainFeature, type RequestFeature } from './request-features.ts';

const schema = {
  type: 'object',
  properties: { city: { type: 'string' } },
  required: ['city'],
  additionalProperties: false,
};
const format = { type: 'json_schema', json_schema: { name: 'place', schema, strict: true } };
const config = (members: JsonObject): JsonObject => ({ generationConfig: members });

const chatFunction = [
  { type: 'function', function: { name: 'weather', parameters: { type: 'object' } } },
];
const nativeFunction = [{ functionDeclarations: [{ name: 'weather' }] }];
const jsonConfig = { responseMimeType: 'application/json', responseJsonSchema: schema };

const formats: readonly RequestFeature[] = [
  {
    title: 'response format: JSON schema',
    chat: { body: { response_format: format }, names: ['response_format'] },
    native: { body: config(jsonConfig), names: ['generationConfig.response'] },
    carried: {
      openai: { response_format: { type: 'json_schema', json_schema: { schema } } },
      gemini: config(jsonConfig),
      anthropic: { output_config: { format: { type: 'json_schema', schema } } },
    },
  },
  {
    title: 'response format: JSON schema, together with functions',
    chat: {
      body: { response_format: format, tools: chatFunction },
      names: ['response_format'],
    },
    native: {
      body: { ...config(jsonConfig), tools: nativeFunction },
      names: ['generationConfig.response'],
    },
    carried: {
      openai: { response_format: { type: 'json_schema' }, tools: [{}] },
      gemini: { ...config(jsonConfig), tools: [{}] },
      anthropic: { output_config: { format: { type: 'json_schema' } }, tools: [{}] },
    },
  },
  {
    title: 'response format: JSON without a schema',
    chat: { body: { response_format: { type: 'json_object' } }, names: ['response_format'] },
    native: {
      body: config({ responseMimeType: 'application/json' }),
      names: ['generationConfig.responseMimeType'],
    },
    carried: {
      openai: { response_format: { type: 'json_object' } },
      gemini: config({ responseMimeType: 'application/json' }),
      anthropic: { system: [{ type: 'text' }] },
    },
  },
  {
    title: 'response format: enum (`text/x.enum`)',
    native: {
      body: config({
        responseMimeType: 'text/x.enum',
        responseSchema: { type: 'STRING', enum: ['yes', 'no'] },
      }),
      names: ['generationConfig.response'],
    },
    carried: { openai: { messages: [{ role: 'system' }, {}] }, anthropic: { system: [{}] } },
  },
];

const reasoning: readonly RequestFeature[] = [
  {
    title: 'reasoning effort',
    chat: { body: { reasoning_effort: 'high' }, names: ['reasoning_effort'] },
    native: {
      body: config({ thinkingConfig: { thinkingLevel: 'HIGH' } }),
      names: ['generationConfig.thinkingConfig'],
    },
    carried: {
      openai: { reasoning_effort: 'high' },
      gemini: config({ thinkingConfig: { thinkingLevel: 'HIGH' } }),
      anthropic: { thinking: { type: 'adaptive' }, output_config: { effort: 'high' } },
    },
  },
  {
    title: 'no reasoning (`none`)',
    chat: { body: { reasoning_effort: 'none' }, names: ['reasoning_effort'] },
    native: {
      body: config({ thinkingConfig: { thinkingBudget: 0 } }),
      names: ['generationConfig.thinkingConfig'],
    },
    carried: {
      openai: { reasoning_effort: 'none' },
      gemini: config({ thinkingConfig: { thinkingLevel: 'LOW', includeThoughts: false } }),
      anthropic: { thinking: { type: 'disabled' } },
    },
  },
  {
    title: 'thinking budget in tokens',
    native: {
      body: config({ thinkingConfig: { thinkingBudget: 8192 } }),
      names: ['generationConfig.thinkingConfig'],
    },
    carried: {
      openai: { reasoning_effort: 'medium' },
      anthropic: { thinking: { type: 'adaptive' }, output_config: { effort: 'high' } },
    },
  },
];

const sampling: readonly RequestFeature[] = [
  plainFeature({
    title: 'maximum output tokens',
    chat: 'max_completion_tokens',
    native: 'maxOutputTokens',
    value: 300,
    carried: {
      openai: { max_completion_tokens: 300 },
      gemini: config({ maxOutputTokens: 300 }),
      anthropic: { max_tokens: 300 },
    },
  }),
  plainFeature({
    title: 'temperature',
    chat: 'temperature',
    native: 'temperature',
    value: 0.5,
    carried: { openai: { temperature: 0.5 }, gemini: config({ temperature: 0.5 }) },
  }),
  plainFeature({
    title: 'top_p',
    chat: 'top_p',
    native: 'topP',
    value: 0.5,
    carried: { openai: { top_p: 0.5 }, gemini: config({ topP: 0.5 }) },
  }),
  plainFeature({
    title: 'top_k',
    chat: 'top_k',
    native: 'topK',
    value: 40,
    carried: { openai: { top_k: 40 }, gemini: config({ topK: 40 }) },
  }),
  plainFeature({
    title: 'stop sequences',
    chat: 'stop',
    native: 'stopSequences',
    value: ['END'],
    carried: {
      openai: { stop: ['END'] },
      gemini: config({ stopSequences: ['END'] }),
      anthropic: { stop_sequences: ['END'] },
    },
  }),
  plainFeature({
    title: 'seed',
    chat: 'seed',
    native: 'seed',
    value: 7,
    carried: { openai: { seed: 7 }, gemini: config({ seed: 7 }) },
  }),
  plainFeature({
    title: 'presence penalty',
    chat: 'presence_penalty',
    native: 'presencePenalty',
    value: 0.5,
    carried: {
      openai: { presence_penalty: 0.5 },
      gemini: config({ presencePenalty: 0.5 }),
    },
  }),
  plainFeature({
    title: 'several candidates (`n` > 1)',
    chat: 'n',
    native: 'candidateCount',
    value: 2,
    carried: { openai: { n: 2 }, gemini: config({ candidateCount: 2 }) },
  }),
  {
    title: 'logprobs',
    chat: { body: { logprobs: true, top_logprobs: 2 }, names: ['logprobs', 'top_logprobs'] },
    native: {
      body: config({ responseLogprobs: true, logprobs: 2 }),
      names: ['generationConfig.responseLogprobs', 'generationConfig.logprobs'],
    },
    carried: {
      openai: { logprobs: true, top_logprobs: 2 },
      gemini: config({ responseLogprobs: true, logprobs: 2 }),
    },
  },
  {
    title: '`logit_bias`',
    chat: { body: { logit_bias: { '50256': -100 } }, names: ['logit_bias'] },
    carried: {},
  },
];

const others: readonly RequestFeature[] = [
  {
    title: 'image output',
    chat: { body: { modalities: ['text', 'image'] }, names: ['modalities'] },
    native: {
      body: config({ responseModalities: ['TEXT', 'IMAGE'] }),
      names: ['generationConfig.responseModalities'],
    },
    carried: {},
  },
  {
    title: 'id of the end user',
    chat: { body: { user: 'u-1' }, names: ['user'] },
    carried: { anthropic: { metadata: { user_id: 'u-1' } } },
  },
  {
    title: 'service tier',
    chat: { body: { service_tier: 'flex' }, names: ['service_tier'] },
    native: { body: { serviceTier: 'FLEX' }, names: ['serviceTier'] },
    carried: { openai: { service_tier: 'flex' } },
  },
  {
    title: 'labels (`metadata`, `labels`)',
    chat: { body: { metadata: { team: 'a' } }, names: ['metadata'] },
    native: { body: { labels: { team: 'a' } }, names: ['labels'] },
    carried: {},
  },
  {
    title: 'cached content of Google',
    chat: {
      body: { extra_body: { google: { cached_content: 'cachedContents/1' } } },
      names: ['extra_body.google.cached_content'],
    },
    native: { body: { cachedContent: 'cachedContents/1' }, names: ['cachedContent'] },
    carried: { gemini: { cachedContent: 'cachedContents/1' } },
  },
  {
    title: 'safety settings of Google',
    chat: {
      body: { safety_settings: [{ category: 'C', threshold: 'OFF' }] },
      names: ['safety_settings'],
    },
    native: {
      body: { safetySettings: [{ category: 'C', threshold: 'OFF' }] },
      names: ['safetySettings'],
    },
    carried: { gemini: { safetySettings: [{ category: 'C', threshold: 'OFF' }] } },
  },
];

/** In the order of the table. */
export const settingFeatures: readonly RequestFeature[] = [
  ...formats,
  ...reasoning,
  ...sampling,
  ...others,
];
