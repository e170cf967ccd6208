/** What the demo prints: where it listens, its keys, and a line to paste for each protocol. */
import type { DemoKeys } from './keys.ts';
import type { DemoModels } from './models.ts';

/** The text for the terminal. */
export function linesToPaste(base: string, keys: DemoKeys, models: DemoModels): string {
  const text = keys.text.secret;
  const image = keys.image.secret;
  const json = `-H 'Content-Type: application/json'`;
  const messages = '"messages":[{"role":"user","content":"Say hello."}]';
  const contents = '{"contents":[{"role":"user","parts":[{"text":"Say hello."}]}]}';
  const save = `node -e "process.stdin.setEncoding('utf8').reduce((a,b)=>a+b).then(t=>require('fs').writeFileSync('image.png',Buffer.from(JSON.parse(t).data[0].b64_json,'base64')))"`;
  return `
Tollgate is mounted in an Express app at ${base}

  chat and images  served by ${models.openaiUpstream}
  native           served by ${models.geminiUpstream}

  key of group text   ${text}
  key of group image  ${image}

# Chat, and the same as a stream
curl -s ${base}/v1/chat/completions -H 'Authorization: Bearer ${text}' ${json} -d '{"model":"${models.chat}",${messages}}'
curl -sN ${base}/v1/chat/completions -H 'Authorization: Bearer ${text}' ${json} -d '{"model":"${models.chat}","stream":true,${messages}}'

# An image, and saved as image.png
curl -s ${base}/v1/images/generations -H 'Authorization: Bearer ${image}' ${json} -d '{"model":"${models.image}","prompt":"A lighthouse","size":"1024x1024","quality":"low"}' | head -c 300
curl -s ${base}/v1/images/generations -H 'Authorization: Bearer ${image}' ${json} -d '{"model":"${models.image}","prompt":"A lighthouse","size":"1024x1024","quality":"low"}' | ${save}

# Native content generation, its stream, and the models it serves
curl -s ${base}/v1beta/models/${models.native}:generateContent -H 'x-vendor-api-key: ${text}' ${json} -d '${contents}'
curl -sN '${base}/v1beta/models/${models.native}:streamGenerateContent?alt=sse' -H 'x-vendor-api-key: ${text}' ${json} -d '${contents}'
curl -s ${base}/v1beta/models -H 'x-vendor-api-key: ${text}'

# The SDKs, as they come: npm install openai @google/genai
const openai = new OpenAI({ baseURL: '${base}/v1', apiKey: '${text}' });
await openai.chat.completions.create({ model: '${models.chat}', messages: [{ role: 'user', content: 'Say hello.' }] });
const images = new OpenAI({ baseURL: '${base}/v1', apiKey: '${image}' });
await images.images.generate({ model: '${models.image}', prompt: 'A lighthouse' });
const google = new GoogleGenAI({ apiKey: '${text}', httpOptions: { baseUrl: '${base}' } });
await google.models.generateContent({ model: '${models.native}', contents: 'Say hello.' });

The models demo-503, demo-429, demo-slow, demo-cut and demo-safety fail as their names say.
Ctrl-C ends it.
`;
}
