/**
 * Replies of the providers as data. Adapted (shortened, ids and accounts replaced) from traffic
 * recorded by pydantic-ai (MIT, Pydantic Services Inc.), and by OpenLLMetry, vercel/ai and
 * Firebase's vertexai-sdk-test-data (Apache-2.0).
 */
import type { JsonObject } from '../../json.ts';

export const chatPieces: readonly string[] =
  'Hi| there|!| How| can| I| help| today|?| Tell me what you’d like to work on.'.split('|');

export const chatAfterToolPieces: readonly string[] =
  'It| is| 57|°F| and| foggy| right| now|.'.split('|');

/** Prompt and completion tokens of each kind of chat reply. */
export const chatTokens = {
  text: [12, 10],
  afterTool: [129, 9],
  toolCall: [82, 18],
  structured: [83, 32],
} as const;

/** Pieces of reasoning as compatible servers stream it in `reasoning_content`. */
export const reasoningPieces: readonly string[] = ['The user', ' greets', ' me', '.'];

export const chatMetadata: JsonObject = {
  service_tier: 'default',
  system_fingerprint: 'fp_f12167b370',
};

export const openaiHeaders: Readonly<Record<string, string>> = {
  'openai-organization': 'org-fake',
  'openai-processing-ms': '412',
  'openai-version': '2020-10-01',
  'x-ratelimit-limit-requests': '500',
  'x-ratelimit-remaining-requests': '499',
  'x-ratelimit-reset-requests': '120ms',
  'cf-cache-status': 'DYNAMIC',
  'set-cookie': '__cf_bm=fake; path=/; HttpOnly; Secure; SameSite=None',
  server: 'cloudflare',
};

/** Output tokens of one 1024 × 1024 image, by quality. */
export const imageTokens: Readonly<Record<string, number>> = { low: 272, medium: 1056, high: 4160 };

export const geminiPieces: readonly string[] = ['Hello!', ' How can I help', ' you today?'];

export const geminiAfterToolPieces: readonly string[] = ['It is 57', '°F and foggy', ' right now.'];

/** Prompt, candidate and thought tokens of each kind of Gemini reply. */
export const geminiTokens = {
  text: [9, 9, 34],
  afterTool: [91, 12, 0],
  functionCall: [49, 15, 48],
  structured: [21, 32, 0],
  image: [7, 1290, 0],
} as const;

export const geminiThoughtPieces: readonly string[] = [
  '**Greeting the user**\n\n',
  'A friendly answer will do.\n',
];

/** A thought signature: a caller has to send it back byte for byte. */
export const thoughtSignature: string =
  'CusBAXLI2nxjqlNFmkZhFvBKYO2Qbvj3E+G7N6BmlLYeobi9hrXb2MqtS/9TkFYVru/pjEa0jD3zRZrqHuyr/OCYx7S1' +
  'b4Ukwh3oq6L9AZ09WbcKvaHyZNyTmcJy23JbOYYX3naiWgfUo2l/CW26R1YL7brQc9tgTYqpzljWs/8vBp1aGg==';

export const blockedRatings: readonly JsonObject[] = [
  { category: 'HARM_CATEGORY_SEXUALLY_EXPLICIT', probability: 'NEGLIGIBLE' },
  { category: 'HARM_CATEGORY_HATE_SPEECH', probability: 'HIGH' },
  { category: 'HARM_CATEGORY_HARASSMENT', probability: 'NEGLIGIBLE' },
  { category: 'HARM_CATEGORY_DANGEROUS_CONTENT', probability: 'NEGLIGIBLE' },
];

export const geminiHeaders: Readonly<Record<string, string>> = {
  vary: 'Origin, X-Origin, Referer',
  server: 'scaffolding on HTTPServer2',
  'server-timing': 'gfet4t7; dur=412',
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'SAMEORIGIN',
  'x-xss-protection': '0',
};

export const openaiModels: readonly string[] = [
  ...['gpt-5-nano', 'gpt-4.1-nano', 'gpt-4o-mini'],
  ...['gpt-image-1', 'dall-e-3', 'text-embedding-3-small'],
];

export const geminiModels: Readonly<Record<string, string>> = {
  'gemini-2.5-flash': 'Gemini 2.5 Flash',
  'gemini-3-pro-preview': 'Gemini 3 Pro Preview',
  'gemini-embedding-2': 'Gemini Embedding 2',
};
