/** Request features of the conversation: instructions, media, and where it ends. */
import type { JsonObject } from '../../../src/json.ts';
import type { RequestFeature } from './request-features.ts';

const png = 'iVBORw0KGgo=';
const wav = 'UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQAAAAA=';
const pdf = 'JVBERi0xLjQKJSVFT0YK';
const address = 'https://example.com/cat.png';

const user = (content: string): JsonObject => ({ role: 'user', content });
const assistant = (content: string): JsonObject => ({ role: 'assistant', content });
const turn = (role: string, text: string): JsonObject => ({ role, parts: [{ text }] });
const block = (text: string): JsonObject => ({ type: 'text', text });

/** One part beside a question, in each protocol and dialect. */
function mediaFeature(
  title: string,
  parts: Readonly<Partial<Record<'chat' | 'gemini' | 'anthropic' | 'native', JsonObject>>>,
): RequestFeature {
  const { chat, gemini, anthropic, native = gemini } = parts;
  const contents = (part: JsonObject) => ({ contents: [{ role: 'user', parts: [part] }] });
  const messages = (part: JsonObject) => ({ messages: [{ role: 'user', content: [part] }] });
  return {
    title,
    ...(chat && { chat: { body: messages(chat), names: ['messages[0].content[0]'] } }),
    ...(native && { native: { body: contents(native), names: ['contents[0].parts[0]'] } }),
    carried: {
      ...(gemini && { gemini: contents(gemini) }),
      ...(chat && { openai: messages(chat) }),
      ...(anthropic && { anthropic: messages(anthropic) }),
    },
  };
}

const namedPdf = { file_data: `data:application/pdf;base64,${pdf}`, filename: 'a.pdf' };
const namedInline = { mimeType: 'application/pdf', data: pdf, displayName: 'a.pdf' };
const inline = (mimeType: string, data: string): JsonObject => ({ inlineData: { mimeType, data } });

/** In the order of the table. */
export const messageFeatures: readonly RequestFeature[] = [
  {
    title: 'system instruction',
    chat: {
      body: { messages: [{ role: 'system', content: 'Be brief.' }, user('hi')] },
      names: ['messages[0]'],
    },
    native: {
      body: { systemInstruction: { parts: [{ text: 'Be brief.' }] } },
      names: ['systemInstruction'],
    },
    carried: {
      openai: { messages: [{ role: 'system', content: 'Be brief.' }, {}] },
      gemini: { systemInstruction: { parts: [{ text: 'Be brief.' }] } },
      anthropic: { system: [block('Be brief.')] },
    },
  },
  {
    title: 'system message after other messages',
    chat: {
      body: {
        messages: [
          user('hi'),
          assistant('Hello.'),
          user('Go on.'),
          { role: 'system', content: 'In French.' },
        ],
      },
      names: ['messages[3]'],
    },
    carried: {
      gemini: { systemInstruction: { parts: [{ text: 'In French.' }] } },
      anthropic: { messages: [{}, {}, {}, { role: 'system' }] },
    },
  },
  mediaFeature('inline image (Base64)', {
    chat: { type: 'image_url', image_url: { url: `data:image/png;base64,${png}` } },
    gemini: inline('image/png', png),
    anthropic: { type: 'image', source: { type: 'base64', media_type: 'image/png', data: png } },
  }),
  mediaFeature('image URL', {
    chat: { type: 'image_url', image_url: { url: address } },
    gemini: { fileData: { mimeType: 'image/png', fileUri: address } },
    anthropic: { type: 'image', source: { type: 'url', url: address } },
  }),
  mediaFeature('audio', {
    chat: { type: 'input_audio', input_audio: { format: 'wav', data: wav } },
    gemini: inline('audio/wav', wav),
  }),
  mediaFeature('video', { gemini: inline('video/mp4', png) }),
  mediaFeature('document', {
    chat: {
      type: 'file',
      file: { file_data: `data:application/pdf;base64,${pdf}` },
    },
    gemini: inline('application/pdf', pdf),
    anthropic: {
      type: 'document',
      source: { type: 'base64', media_type: 'application/pdf', data: pdf },
    },
  }),
  {
    title: 'file name of a document',
    chat: {
      body: {
        messages: [{ role: 'user', content: [{ type: 'file', file: namedPdf }] }],
      },
      names: ['messages[0].content[0].file.filename'],
    },
    native: {
      body: { contents: [{ role: 'user', parts: [{ inlineData: namedInline }] }] },
      names: ['contents[0].parts[0].inlineData.displayName'],
    },
    carried: {
      openai: { messages: [{ content: [{ file: { filename: 'a.pdf' } }] }] },
      gemini: { contents: [{ parts: [{ inlineData: { displayName: 'a.pdf' } }] }] },
      anthropic: { messages: [{ content: [{ title: 'a.pdf' }] }] },
    },
  },
  mediaFeature('file uploaded to Google', {
    native: { fileData: { mimeType: 'image/png', fileUri: 'gs://bucket/cat.png' } },
  }),
  {
    title: 'file uploaded to OpenAI',
    chat: {
      body: { messages: [{ role: 'user', content: [{ type: 'file', file: { file_id: 'f-1' } }] }] },
      names: ['messages[0].content[0]'],
    },
    carried: {},
  },
  {
    title: 'assistant message at the end (prefill)',
    chat: { body: { messages: [user('hi'), assistant('Dear')] }, names: ['messages[1]'] },
    native: {
      body: { contents: [turn('user', 'hi'), turn('model', 'Dear')] },
      names: ['contents[1]'],
    },
    carried: {
      openai: { messages: [{}, assistant('Dear')] },
      gemini: { contents: [{}, turn('model', 'Dear')] },
      anthropic: { messages: [{}, { role: 'assistant' }] },
    },
  },
  {
    title: 'unsigned reasoning in the history',
    chat: {
      body: {
        messages: [
          user('hi'),
          { ...assistant('Hello.'), reasoning_content: 'Hm.' },
          user('Go on.'),
        ],
      },
      names: ['messages[1].reasoning_content'],
    },
    native: {
      body: {
        contents: [
          turn('user', 'hi'),
          { role: 'model', parts: [{ text: 'Hm.', thought: true }, { text: 'Hello.' }] },
          turn('user', 'Go on.'),
        ],
      },
      names: ['contents[1].parts[0]'],
    },
    carried: {
      openai: { messages: [{}, { reasoning_content: 'Hm.' }, {}] },
      gemini: { contents: [{}, { parts: [{ text: 'Hm.', thought: true }, {}] }, {}] },
      anthropic: { messages: [{}, { content: [{ type: 'thinking' }, {}] }, {}] },
    },
  },
  {
    title: '`cache_control` of Anthropic',
    chat: {
      body: {
        messages: [
          { role: 'user', content: [{ ...block('hi'), cache_control: { type: 'ephemeral' } }] },
        ],
      },
      names: ['messages', 'cache_control'],
    },
    carried: {
      anthropic: { messages: [{ content: [{ cache_control: { type: 'ephemeral' } }] }] },
    },
  },
];
