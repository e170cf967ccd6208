/** The replies of the upstream: one recorded reply of each kind, in each dialect. */
import { base64 } from '../lib/calls.mjs';

const json = (value) => Buffer.from(JSON.stringify(value));
const text = 'the answer is a text of some words '.repeat(18);
const dimensions = 1_536;
const embeddings = (embedding) =>
  json({
    object: 'list',
    data: Array.from({ length: 16 }, (_, index) => ({ object: 'embedding', index, embedding })),
    model: 'text-embedding-3-small',
    usage: { prompt_tokens: 180, total_tokens: 180 },
  });
const geminiUsage = { promptTokenCount: 180, candidatesTokenCount: 160, totalTokenCount: 340 };

const whole = {
  openai: json({
    id: 'chatcmpl-bench',
    object: 'chat.completion',
    created: 1_763_683_200,
    model: 'gpt-4o',
    choices: [
      {
        index: 0,
        message: { role: 'assistant', content: text, refusal: null },
        logprobs: null,
        finish_reason: 'stop',
      },
    ],
    usage: { prompt_tokens: 180, completion_tokens: 160, total_tokens: 340 },
  }),
  responses: json({
    id: 'resp_bench',
    object: 'response',
    created_at: 1_763_683_200,
    status: 'completed',
    model: 'gpt-4o',
    output: [
      {
        id: 'msg_bench',
        type: 'message',
        status: 'completed',
        role: 'assistant',
        content: [{ type: 'output_text', text, annotations: [] }],
      },
    ],
    usage: { input_tokens: 180, output_tokens: 160, total_tokens: 340 },
  }),
  embeddings: embeddings(base64((dimensions * 16) / 3)),
  floats: embeddings(Array.from({ length: dimensions }, (_, at) => Math.sin(at + 1) / 16)),
  gemini: json({
    candidates: [{ content: { parts: [{ text }], role: 'model' }, finishReason: 'STOP', index: 0 }],
    usageMetadata: geminiUsage,
    modelVersion: 'gemini-3-pro',
    responseId: 'bench',
  }),
  anthropic: json({
    id: 'msg_bench',
    type: 'message',
    role: 'assistant',
    model: 'claude',
    content: [{ type: 'text', text }],
    stop_reason: 'end_turn',
    stop_sequence: null,
    usage: { input_tokens: 180, output_tokens: 160 },
  }),
};

/** The dialect of a path, or its API. */
export function dialectOf(path) {
  if (path.includes('enerateContent')) return 'gemini';
  if (path.endsWith('/responses')) return 'responses';
  if (path.endsWith('/embeddings')) return path.startsWith('/floats/') ? 'floats' : 'embeddings';
  return path.endsWith('/messages') ? 'anthropic' : 'openai';
}

/** A whole chat reply of about 1 KB. */
export const chatReply = (dialect) => whole[dialect];

const images = new Map();

/** An image with that many Base64 characters; created once and sent from the same buffer. */
export function imageReply(dialect, length) {
  const name = `${dialect} ${length}`;
  const made = images.get(name) ?? (dialect === 'gemini' ? geminiImage : openaiImage)(length);
  images.set(name, made);
  return made;
}

function openaiImage(length) {
  return json({
    created: 1_763_683_200,
    data: [{ b64_json: base64(length) }],
    usage: { input_tokens: 180, output_tokens: 160, total_tokens: 340 },
  });
}

function geminiImage(length) {
  const parts = [{ inlineData: { mimeType: 'image/png', data: base64(length) } }];
  return json({
    candidates: [{ content: { parts, role: 'model' }, finishReason: 'STOP', index: 0 }],
    usageMetadata: geminiUsage,
    modelVersion: 'gemini-3-pro',
    responseId: 'bench',
  });
}
