// suite: search
/**
 * Content that a request only references is held as a reference, in every member and at every depth
 * where a server may read it. Text stays text, even if a URL is in it.
 */
import { describe, expect, it } from 'vitest';
import { wholeBody } from '../../src/bytes/body/body.ts';
import type { JsonObject, JsonValue } from '../../src/json.ts';
import type { Model } from '../../src/ports/models/catalog.ts';
import { routesOf } from '../../src/protocols/routes.ts';
import { protocols } from '../../src/protocols/table.ts';
import { readCall } from '../../src/stages/read-call.ts';
import { holdFor } from '../../src/stages/settle/hold.ts';
import { model } from '../support/models.ts';
import { routeSettings } from '../support/route-settings.ts';
import { namedThings, partShapes } from './part-shapes.ts';

const referenceTokens = 1_000_000;
const imageTokens = 1_000;
const { contextTokens: _unstated, ...roomy } = model({
  mediaPartTokens: { image: imageTokens, reference: referenceTokens, document: referenceTokens },
});
const question: JsonObject = { type: 'text', text: 'Sum it up.' };

function tokensOf(path: string, body: JsonObject, of: Model = roomy): number {
  const request = { method: 'POST', path, search: '', headers: {} };
  const route = routesOf(protocols).find(request, routeSettings);
  if (route.kind !== 'call') throw new Error(`${path} is no call`);
  return holdFor(readCall(wholeBody(Buffer.from(JSON.stringify(body))), route, routeSettings), of)
    .inputTokens;
}

const chat = (members: JsonObject): number =>
  tokensOf('/v1/chat/completions', { model: 'm', messages: [{ role: 'user' }], ...members });
const output = (...parts: readonly JsonValue[]): number =>
  chat({ messages: [{ role: 'user', content: [...parts, question] }] });
const responses = (...input: readonly JsonValue[]): number =>
  tokensOf('/v1/responses', { model: 'm', input: [...input, { role: 'user', content: 'Hi' }] });
const native = (members: JsonObject): number =>
  tokensOf('/v1beta/models/m:generateContent', {
    contents: [{ parts: [{ text: 'Sum it up.' }] }],
    ...members,
  });

describe.each(namedThings)('%s counts as a reference', (_what, text) => {
  it.each(partShapes(text))('in a chat part: %j', (part) => {
    expect(output(part)).toBeGreaterThan(referenceTokens);
    expect(
      chat({ messages: [{ role: 'tool', tool_call_id: 'a', content: [part] }] }),
    ).toBeGreaterThan(referenceTokens);
    expect(chat({ messages: [{ role: 'user', content: part }] })).toBeGreaterThan(referenceTokens);
    const nested = { type: 'tool_result', tool_use_id: 'a', content: [part] };
    expect(output(nested)).toBeGreaterThan(referenceTokens);
  });

  it.each(partShapes(text))('in a Responses part: %j', (part) => {
    expect(responses({ role: 'user', content: [part] })).toBeGreaterThan(referenceTokens);
    expect(responses({ role: 'user', content: part })).toBeGreaterThan(referenceTokens);
    expect(responses({ role: 'user', content: [[part]] })).toBeGreaterThan(referenceTokens);
    for (const type of ['function_call_output', 'custom_tool_call_output']) {
      expect(responses({ type, call_id: 'a', output: [part] })).toBeGreaterThan(referenceTokens);
    }
    const screenshot = { type: 'computer_call_output', call_id: 'a', output: part };
    expect(responses(screenshot)).toBeGreaterThan(referenceTokens);
    expect(responses({ type: 'new_item', content: [part] })).toBeGreaterThan(referenceTokens);
    const hologram = { ...part, type: 'hologram' };
    expect(responses(hologram)).toBeGreaterThan(referenceTokens);
  });

  it.each([
    { documents: [{ url: text }] },
    { documents: [text] },
    { files: [text] },
    { file_url: text },
    { extra_body: { documents: [{ url: text }] } },
  ])('next to the messages: %j', (members) => {
    expect(chat(members)).toBeGreaterThan(referenceTokens);
  });

  it.each([
    { fileData: { fileUri: text } },
    { file_data: { file_uri: text, mime_type: 'video/mp4' } },
    { fileData: [{ fileUri: text }] },
    { document: { url: text } },
    { inlineData: { mimeType: 'application/pdf', uri: text } },
    { functionResponse: { name: 'f', response: {}, parts: [{ fileData: { fileUri: text } }] } },
  ])('in a native part: %j', (part) => {
    expect(native({ contents: [{ parts: [part] }] })).toBeGreaterThan(referenceTokens);
    expect(native({ system_instruction: { parts: [part] } })).toBeGreaterThan(referenceTokens);
    expect(native({ systemInstruction: { parts: part } })).toBeGreaterThan(referenceTokens);
  });
});

it.each([
  { type: 'file', file_id: 'f' },
  { type: 'input_file', fileId: 'f' },
  { type: 'media', source: { media_id: 7 } },
  { type: 'video', video: { id: 'video_abc' } },
  { type: 'image_url', image_url: {}, uuid: 'cached-1' },
])('an id counts as a reference: %j', (part) => {
  expect(output(part)).toBeGreaterThan(referenceTokens);
});

it.each([
  { messages: [{ role: 'assistant', audio: { id: 'audio_abc' } }] },
  { messages: [{ role: 'user', content: 'see', files: ['https://x.example/a'] }] },
  { messages: [{ role: 'user', content: 'see', images: ['https://x.example/a.pdf'] }] },
  { cached_content: 'cachedContents/1' },
  { extra_body: { cachedContent: 'cachedContents/1' } },
  { extra_body: { google: { cached_content: 'cachedContents/1' } } },
  { google: { cached_content: 'cachedContents/1' } },
  { previous_response_id: 'resp_1' },
])('other references of a chat count too: %j', (members) => {
  expect(chat(members)).toBeGreaterThan(referenceTokens);
});

it.each([
  { type: 'image', image: 'https://x.example/a.png' },
  { type: 'image', source: { type: 'url', url: 'https://x.example/a' } },
  { type: 'input_image', image_url: 'https://x.example/a.jpg' },
  { type: 'image_url', image_url: [{ url: 'https://x.example/a.webp' }] },
  { image: 'https://x.example/a.png' },
  { type: 'input_image', image_url: 'data:image/png;base64,iVBORw0KGgo=' },
  { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'iVBORw0KGgo=' } },
])('an image counts as an image, in other shapes too: %j', (part) => {
  expect(output(part) - output()).toBeOneOf(
    Array.from({ length: 80 }, (_, index) => imageTokens + index),
  );
});

it('a PDF in a member that no known server reads counts as a document', () => {
  const data = 'JVBERi0xLjcK';

  for (const part of [
    { type: 'document', source: { type: 'base64', media_type: 'application/pdf', data } },
    { type: 'document_url', document_url: `data:application/pdf;base64,${data}` },
    { type: 'file', data, mediaType: 'application/pdf' },
    { type: 'pdf', pdf: data },
  ]) {
    expect(output(part)).toBeGreaterThan(referenceTokens);
  }
});

const url = 'https://x.example/a.pdf';
const call = {
  id: 'call_1',
  type: 'function',
  function: { name: 'f', arguments: `{"url":"${url}"}` },
};
const declared = {
  type: 'function',
  function: {
    name: 'f',
    description: url,
    parameters: { $id: url, properties: { file_id: { default: url } } },
  },
};

it.each([
  { messages: [{ role: 'user', content: url }] },
  { messages: [{ role: 'user', content: [{ type: 'text', text: url }] }] },
  { messages: [{ role: 'user', content: [{ text: url }] }] },
  { messages: [{ role: 'user', content: [url] }] },
  { messages: [{ role: 'user', content: [{ type: 'input_text', text: url, id: 'msg_1' }] }] },
  {
    messages: [
      { role: 'user', content: 'hi' },
      { role: 'assistant', content: null, tool_calls: [call], audio: null },
      { role: 'tool', tool_call_id: 'call_1', content: `{"url":"${url}"}` },
    ],
  },
  {
    messages: [
      {
        role: 'assistant',
        content: [
          { type: 'text', text: 'See', annotations: [{ type: 'url_citation', url }] },
          { type: 'tool_use', id: 'toolu_1', name: 'f', input: { url, file_ids: ['a'] } },
          { type: 'thinking', thinking: url },
        ],
        annotations: [{ type: 'url_citation', url_citation: { url, title: 'T' } }],
        citations: [url],
        reasoning_details: [{ type: 'reasoning.text', text: url, id: 'r_1' }],
      },
      {
        role: 'user',
        content: [
          { type: 'tool_result', tool_use_id: 'toolu_1', content: [{ type: 'text', text: url }] },
          { type: 'search_result', source: url, title: 'T', content: [] },
        ],
      },
    ],
  },
  { tools: [declared], functions: [declared.function], metadata: { url }, user: url },
  { extra_body: { google: { thinking_config: { include_thoughts: true } } } },
  { cached_content: null, documents: [] },
])('text stays text, and so do calls and results of tools: %j', (members) => {
  expect(chat(members)).toBeLessThan(1_000);
});

it.each([
  { contents: [{ parts: [{ text: url }] }] },
  { systemInstruction: { parts: [{ text: url }] } },
  { contents: [{ parts: [{ functionCall: { name: 'f', args: { url, file_id: 'a' } } }] }] },
  {
    contents: [
      { parts: [{ functionResponse: { name: 'f', id: '1', response: { url, file_id: 'a' } } }] },
    ],
  },
  { contents: [{ parts: [{ executableCode: { language: 'PYTHON', code: url } }] }] },
  { tools: [{ functionDeclarations: [{ name: 'f', description: url }] }] },
])('native: text stays text, and so do calls and results of functions: %j', (members) => {
  expect(native(members)).toBeLessThan(1_000);
});

it.each(
  partShapes('https://x.example/a.pdf'),
)('a reference is refused if nothing bounds it: %j', (part) => {
  const { mediaPartTokens: _none, ...bare } = roomy;
  const body = { model: 'm', messages: [{ role: 'user', content: [part] }] };

  expect(() => tokensOf('/v1/chat/completions', body, bare)).toThrow(
    expect.objectContaining({ code: 'invalid_request', param: 'messages[0].content[0]' }),
  );
});
