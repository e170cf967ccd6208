/** What the system prompt and the messages of a Messages request can have. */
import { assistant, feature, hi, image, inBlock, png, text, user } from './messages-features.ts';
import type { RequestFeature } from './request-features.ts';

const blockName = 'messages[0].content[0]';
const pdf = 'JVBERi0xLjQKJSVFT0YK';
const pdfSource = { type: 'base64', media_type: 'application/pdf', data: pdf };
const document = { type: 'document', source: pdfSource };

/** In the order of the table. */
export const blockFeatures: readonly RequestFeature[] = [
  feature('`system`: string or blocks', { system: [text('Be brief.')] }, 'system', {
    openai: { messages: [{ role: 'system', content: 'Be brief.' }, {}] },
    gemini: { systemInstruction: { parts: [{ text: 'Be brief.' }] } },
  }),
  feature(
    'block `x-anthropic-billing-header` of a coding agent',
    { system: [text('x-anthropic-billing-header: cc_version=2;'), text('Be brief.')] },
    'system[0]',
  ),
  feature(
    '`role: system` among the messages',
    { messages: [hi, assistant(text('Hello.')), hi, { role: 'system', content: 'In French.' }] },
    'messages[3]',
    {
      openai: { messages: [{}, {}, {}, { role: 'system', content: 'In French.' }] },
      gemini: { systemInstruction: { parts: [{ text: 'In French.' }] } },
    },
  ),
  feature(
    '`tool_addition`, `tool_removal`',
    { messages: [hi, { role: 'system', content: [{ type: 'tool_addition', tool: {} }] }] },
    'messages[1].content[0]',
  ),
  feature(
    'assistant message at the end (prefill)',
    { messages: [hi, assistant(text('Once'))] },
    'messages[1].content[0]',
    {
      openai: { messages: [{}, { role: 'assistant', content: 'Once' }] },
      gemini: { contents: [{}, { role: 'model', parts: [{ text: 'Once' }] }] },
    },
  ),
  feature('`image` in Base64', inBlock(image), blockName, {
    openai: { messages: [{ content: [{ type: 'image_url' }] }] },
    gemini: { contents: [{ parts: [{ inlineData: { mimeType: 'image/png', data: png } }] }] },
  }),
  feature(
    '`image` by URL',
    inBlock({ type: 'image', source: { type: 'url', url: 'https://example.com/a.png' } }),
    blockName,
    {
      openai: { messages: [{ content: [{ image_url: { url: 'https://example.com/a.png' } }] }] },
      gemini: { contents: [{ parts: [{ fileData: { fileUri: 'https://example.com/a.png' } }] }] },
    },
  ),
  feature(
    '`file_id` of an image or document',
    inBlock({ type: 'image', source: { type: 'file', file_id: 'file_1' } }),
    `${blockName}.source.file_id`,
  ),
  feature('`document`: PDF in Base64', inBlock(document), blockName, {
    openai: { messages: [{ content: [{ type: 'file' }] }] },
    gemini: { contents: [{ parts: [{ inlineData: { data: pdf } }] }] },
  }),
  feature(
    '`document`: PDF by URL',
    inBlock({ type: 'document', source: { type: 'url', url: 'https://example.com/a.pdf' } }),
    blockName,
    { gemini: { contents: [{ parts: [{ fileData: { fileUri: 'https://example.com/a.pdf' } }] }] } },
  ),
  feature(
    '`document`: text',
    inBlock({
      type: 'document',
      source: { type: 'text', media_type: 'text/plain', data: 'A tale.' },
    }),
    blockName,
    {
      openai: { messages: [{ content: 'A tale.' }] },
      gemini: { contents: [{ parts: [{ inlineData: { mimeType: 'text/plain' } }] }] },
    },
  ),
  feature(
    '`document`: blocks',
    inBlock({ type: 'document', source: { type: 'content', content: [text('A tale.')] } }),
    blockName,
    {
      openai: { messages: [{ content: 'A tale.' }] },
      gemini: { contents: [{ parts: [{ text: 'A tale.' }] }] },
    },
  ),
  feature(
    '`context` of a document',
    inBlock({ ...document, context: 'An old one.' }),
    `${blockName}.context`,
    {
      openai: { messages: [{ content: [{ text: 'An old one.\n\n' }, { type: 'file' }] }] },
      gemini: { contents: [{ parts: [{ text: 'An old one.\n\n' }, { inlineData: {} }] }] },
    },
  ),
  feature(
    '`citations` of a document',
    inBlock({ ...document, citations: { enabled: true } }),
    `${blockName}.citations`,
  ),
  feature(
    '`search_result`',
    inBlock({ type: 'search_result', title: 'T', source: 's', content: [text('found')] }),
    blockName,
    {
      openai: { messages: [{ content: 'T\ns\n\nfound\n' }] },
      gemini: { contents: [{ parts: [{ text: 'T\ns\n\nfound\n' }] }] },
    },
  ),
  feature('`container_upload`', inBlock({ type: 'container_upload', file_id: 'f' }), [
    'messages',
    blockName,
  ]),
  feature(
    'thinking of Anthropic',
    { messages: [hi, assistant({ type: 'thinking', thinking: 'hm', signature: 'c' }), hi] },
    'messages.thinking',
  ),
  feature(
    'blocks of tools that Anthropic ran, such as `server_tool_use`',
    {
      messages: [
        hi,
        assistant(text('Hm.'), { type: 'server_tool_use', id: 's', name: 'n', input: {} }),
        hi,
      ],
    },
    'messages[1].content[1]',
  ),
  feature(
    '`compaction` with a summary',
    { messages: [hi, assistant({ type: 'compaction', content: 'They met.' }), hi] },
    [],
    {
      openai: { messages: [{ role: 'user', content: 'They met.' }, { content: 'hi' }] },
      gemini: { contents: [{ parts: [{ text: 'They met.' }, { text: 'hi' }] }] },
    },
  ),
  feature(
    '`compaction` that only Anthropic can read',
    { messages: [hi, assistant({ type: 'compaction', encrypted_content: 'c' }), hi] },
    'messages[1].content[0]',
  ),
  feature('blocks of an unknown type', inBlock({ type: 'of_next_year' }), blockName),
  feature(
    '`cache_control`, anywhere',
    { messages: [user({ ...text('hi'), cache_control: { type: 'ephemeral' } })] },
    'cache_control',
  ),
];
