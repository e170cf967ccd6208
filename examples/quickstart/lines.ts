/** The output of the demo: its address, its keys, and a command to paste for each protocol. */
import type { DemoSecrets } from './keys.ts';
import type { DemoModels } from './models.ts';

/** The facts that the terminal shows. */
export interface Demo {
  readonly base: string;
  /** The link that signs in to the console. */
  readonly link: string;
  readonly secrets: DemoSecrets;
  readonly models: DemoModels;
  /** The place where keys, quota and usage are kept. */
  readonly place: string;
}

/** The text for the terminal. */
export function linesToPaste({ base, link, secrets, models, place }: Demo): string {
  const chatBody = { model: models.chat, messages: [{ role: 'user', content: 'Say hello.' }] };
  const messagesBody = { ...chatBody, model: models.claude, max_tokens: 256 };
  const responsesBody = { model: models.chat, input: 'Say hello.' };
  const embedBody = { model: models.embedding, input: ['A lighthouse', 'A bridge'], dimensions: 8 };
  const embedOne = { content: { parts: [{ text: 'A lighthouse' }] }, outputDimensionality: 8 };
  const picture = { model: models.image, prompt: 'A lighthouse', quality: 'low' };
  const native = { contents: [{ role: 'user', parts: [{ text: 'Say hello.' }] }] };
  const nativePath = `/v1beta/models/${models.native}`;
  const named = models.faults.join(', ');
  const faults = named === '' ? '' : `These models fail as their names say: ${named}\n`;
  return `
Tollgate serves at ${base}

  OpenAI's APIs    served by ${models.openaiUpstream}
  native           served by ${models.geminiUpstream}
  Messages         served by ${models.anthropicUpstream}
  keys and usage   in ${place}

The console: what the gateway does, who spends what, keys and channels. This link signs in once,
within ten minutes; then it is at ${base}/console

  ${link}

# Paste these first: the address, the key of group text, and that of group image
export BASE=${base}
export KEY=${secrets.text}
export IMAGE_KEY=${secrets.image}

# Chat, and the same as a stream
${post('/v1/chat/completions', bearer('KEY'), chatBody)}
${post('/v1/chat/completions', bearer('KEY'), { ...chatBody, stream: true })}

# The Responses API, which new clients of OpenAI call
${post('/v1/responses', bearer('KEY'), responsesBody)}

# Anthropic's Messages API
${post('/v1/messages', 'x-api-key: $KEY', messagesBody)}

# Embeddings, in OpenAI's shape and in Google's
${post('/v1/embeddings', bearer('KEY'), embedBody)}
${post(`/v1beta/models/${models.nativeEmbedding}:embedContent`, googleKey, embedOne)}

# An image, and saved as image.png
${post('/v1/images/generations', bearer('IMAGE_KEY'), picture)} | head -c 300
${post('/v1/images/generations', bearer('IMAGE_KEY'), picture)} | ${saveAsPng}

# Google's native API: content, its stream, and the models
${post(`${nativePath}:generateContent`, googleKey, native)}
${post(`${nativePath}:streamGenerateContent?alt=sse`, googleKey, native)}
${get('/v1beta/models', googleKey)}

# What the key may spend, and what it has used
${get('/v1/key', bearer('KEY'))}

# The SDKs, unmodified: npm install openai @google/genai @anthropic-ai/sdk
const chat = new OpenAI({ baseURL: '${base}/v1', apiKey: process.env.KEY });
await chat.chat.completions.create(${JSON.stringify(chatBody)});
await chat.responses.create(${JSON.stringify(responsesBody)});
await chat.embeddings.create(${JSON.stringify(embedBody)});
const images = new OpenAI({ baseURL: '${base}/v1', apiKey: process.env.IMAGE_KEY });
await images.images.generate(${JSON.stringify(picture)});
const google = new GoogleGenAI({ apiKey: process.env.KEY, httpOptions: { baseUrl: '${base}' } });
await google.models.generateContent({ model: '${models.native}', contents: 'Say hello.' });
const anthropic = new Anthropic({ baseURL: '${base}', apiKey: process.env.KEY });
await anthropic.messages.create(${JSON.stringify(messagesBody)});

# Each of these serves chat, Responses, Messages and native calls, whatever API its upstream has
${models.either.join(', ')}

${faults}Ctrl-C ends it.
`;
}

const googleKey = 'x-goog-api-key: $KEY';

function bearer(variable: 'KEY' | 'IMAGE_KEY'): string {
  return `Authorization: Bearer $${variable}`;
}

function get(path: string, header: string): string {
  return `curl -s "$BASE${path}" -H "${header}"`;
}

function post(path: string, header: string, body: object): string {
  const json = JSON.stringify(body);
  return `curl -sN "$BASE${path}" -H "${header}" -H 'Content-Type: application/json' -d '${json}'`;
}

const saveAsPng = [
  `node -e "process.stdin.setEncoding('utf8').reduce((a, b) => a + b).then((t) =>`,
  `require('fs').writeFileSync('image.png', JSON.parse(t).data[0].b64_json, 'base64'))"`,
].join(' ');
