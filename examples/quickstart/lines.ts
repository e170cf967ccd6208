/** The output of the demo: its address, its keys, and a command to paste for each protocol. */
import type { DemoSecrets } from './keys.ts';
import type { DemoModels } from './models.ts';

/** The facts that the terminal shows. */
export interface Demo {
  readonly base: string;
  readonly secrets: DemoSecrets;
  readonly models: DemoModels;
  /** The place where keys, quota and usage are kept. */
  readonly place: string;
}

/** The text for the terminal. */
export function linesToPaste({ base, secrets, models, place }: Demo): string {
  const { text, image } = secrets;
  const chatBody = { model: models.chat, messages: [{ role: 'user', content: 'Say hello.' }] };
  const picture = {
    model: models.image,
    prompt: 'A lighthouse',
    size: '1024x1024',
    quality: 'low',
  };
  const native = { contents: [{ role: 'user', parts: [{ text: 'Say hello.' }] }] };
  const bearer = (secret: string): string => `Authorization: Bearer ${secret}`;
  const vendor = `x-vendor-api-key: ${text}`;
  const chatUrl = `${base}/v1/chat/completions`;
  const imageUrl = `${base}/v1/images/generations`;
  const nativeUrl = `${base}/v1beta/models/${models.native}`;
  const named = models.faults.join(', ');
  const faults = named === '' ? '' : `These models fail as they say: ${named}\n`;
  return `
Tollgate is mounted in an Express app at ${base}

  chat and images  served by ${models.openaiUpstream}
  native           served by ${models.geminiUpstream}
  keys and usage   in ${place}

  key of group text   ${text}
  key of group image  ${image}

# Chat, and the same as a stream
${post(chatUrl, bearer(text), chatBody)}
${post(chatUrl, bearer(text), { ...chatBody, stream: true })}

# An image, and saved as image.png
${post(imageUrl, bearer(image), picture)} | head -c 300
${post(imageUrl, bearer(image), picture)} | ${saveAsPng}

# Native content generation, its stream, and the models it serves
${post(`${nativeUrl}:generateContent`, vendor, native)}
${post(`${nativeUrl}:streamGenerateContent?alt=sse`, vendor, native)}
curl -s '${base}/v1beta/models' -H '${vendor}'

# The SDKs, as they come: npm install openai @google/genai
const chat = new OpenAI({ baseURL: '${base}/v1', apiKey: '${text}' });
await chat.chat.completions.create(${JSON.stringify(chatBody)});
const images = new OpenAI({ baseURL: '${base}/v1', apiKey: '${image}' });
await images.images.generate(${JSON.stringify(picture)});
const google = new GoogleGenAI({ apiKey: '${text}', httpOptions: { baseUrl: '${base}' } });
await google.models.generateContent({ model: '${models.native}', contents: 'Say hello.' });

# Each of these answers chat and native calls, whatever its upstream speaks
${models.either.join(', ')}

${faults}Ctrl-C ends it.
`;
}

function post(url: string, key: string, body: object): string {
  const json = JSON.stringify(body);
  return `curl -sN '${url}' -H '${key}' -H 'Content-Type: application/json' -d '${json}'`;
}

const saveAsPng = [
  `node -e "process.stdin.setEncoding('utf8').reduce((a, b) => a + b).then((t) =>`,
  `require('fs').writeFileSync('image.png', JSON.parse(t).data[0].b64_json, 'base64'))"`,
].join(' ');
