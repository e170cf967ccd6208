/**
 * The calls that the load generator makes. In a path, header or body it replaces `{n}` by six digits,
 * the number of a random key, and `{m}` by that of a random model.
 */

/** The model that every contender serves. */
export const modelId = 'bench-model';
export const imageModelId = 'bench-image';
export const embeddingModelId = 'bench-embedding';

/** How many keys there are where nothing else is said. */
export const usualKeys = 10_000;

export const sixDigits = (n) => String(n).padStart(6, '0');

const key = 'bench-key-0123456789-0123456789-0123-{n}';

/** The secrets of all keys. */
export const keySecrets = ({ keys = usualKeys }) =>
  Array.from({ length: keys }, (_, n) => key.replace('{n}', sixDigits(n)));

const words = 'the quick brown fox jumps over a lazy dog while nobody counts its tokens again ';
const prose = (length) => words.repeat(Math.ceil(length / words.length)).slice(0, length);

/** Pseudo-random Base64, which neither compresses nor contains long repetitions. */
export function base64(length) {
  const bytes = Buffer.alloc(Math.ceil((length * 3) / 4));
  let state = 0x2545f491;
  for (let at = 0; at < bytes.length; at += 1) {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    bytes[at] = state >>> 24;
  }
  return bytes.toString('base64').slice(0, length);
}

/** A chat call of about 1 KB; with `imageBytes` also with a Base64 image of that length. */
export function chatCall({ stream = false, imageBytes = 0, model = modelId } = {}) {
  const text = prose(imageBytes === 0 ? 840 : 200);
  const image = {
    type: 'image_url',
    image_url: { url: `data:image/png;base64,${base64(imageBytes)}` },
  };
  const content = imageBytes === 0 ? text : [{ type: 'text', text }, image];
  const messages = [
    { role: 'system', content: 'You are a helpful assistant.' },
    { role: 'user', content },
  ];
  return {
    path: '/v1/chat/completions',
    headers: { authorization: `Bearer ${key}` },
    body: JSON.stringify({ model, ...(stream && { stream: true }), messages }),
    expect: stream ? '[DONE]' : '"usage"',
  };
}

/** The same call in the form of the Responses API. */
export function responsesCall({ stream = false } = {}) {
  return {
    path: '/v1/responses',
    headers: { authorization: `Bearer ${key}` },
    body: JSON.stringify({
      model: modelId,
      ...(stream && { stream: true }),
      instructions: 'You are a helpful assistant.',
      input: [{ role: 'user', content: prose(840) }],
    }),
    expect: stream ? 'response.completed' : '"usage"',
  };
}

/** The same call in Anthropic's format. */
export function messagesCall({ stream = false } = {}) {
  return {
    path: '/v1/messages',
    headers: { 'x-api-key': key, 'anthropic-version': '2023-06-01' },
    body: JSON.stringify({
      model: modelId,
      max_tokens: 1_024,
      ...(stream && { stream: true }),
      system: 'You are a helpful assistant.',
      messages: [{ role: 'user', content: prose(800) }],
    }),
    expect: stream ? '"message_stop"' : '"usage"',
  };
}

/** The same call in Gemini's format. */
export function nativeCall({ stream = false } = {}) {
  const method = stream ? 'streamGenerateContent?alt=sse' : 'generateContent';
  return {
    path: `/v1beta/models/${modelId}:${method}`,
    headers: { 'x-goog-api-key': key },
    body: JSON.stringify({
      systemInstruction: { parts: [{ text: 'You are a helpful assistant.' }] },
      contents: [{ role: 'user', parts: [{ text: prose(850) }] }],
    }),
    expect: stream ? '"STOP"' : '"usageMetadata"',
  };
}

/** An image call with a prompt of about 1 KB. */
export function imageCall() {
  return {
    path: '/v1/images/generations',
    headers: { authorization: `Bearer ${key}` },
    body: JSON.stringify({ model: imageModelId, prompt: prose(940), n: 1, size: '1024x1024' }),
    expect: '"b64_json"',
  };
}

/** 16 texts of 60 bytes each; OpenAI's clients ask for the vectors in Base64. */
export function embeddingsCall({ format = 'base64' } = {}) {
  return {
    path: '/v1/embeddings',
    headers: { authorization: `Bearer ${key}` },
    body: JSON.stringify({
      model: embeddingModelId,
      input: Array.from({ length: 16 }, () => prose(60)),
      encoding_format: format,
    }),
    expect: '"usage"',
  };
}
