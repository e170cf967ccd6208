/** Texts, images, documents and other media of a message of the user. */
import type { Part } from '../../../src/canonical/request.ts';
import type { JsonObject, JsonValue } from '../../../src/json.ts';
import { bytes, remote, stored, text, user } from './parts.ts';
import {
  both,
  type Form,
  invalid,
  type RequestRow,
  reads,
  refusesIt,
  writes,
} from './request-rows.ts';
import type { To } from './wires.ts';

const asked = (...parts: readonly Part[]) => ({ turns: [user(...parts)] });
const one = (...content: readonly JsonObject[]): JsonValue => [{ role: 'user', content }];
/** The message of the user on each wire. */
const chat = (...parts: readonly JsonObject[]) => ({ messages: one(...parts) });
const responses = (...parts: readonly JsonObject[]) => ({ input: one(...parts) });
const claude = (...parts: readonly JsonObject[]) => ({ messages: one(...parts) });
const gemini = (...parts: readonly JsonObject[]) => ({ contents: [{ role: 'user', parts }] });
const t = (value: string) => ({ type: 'text', text: value });

const png = 'data:image/png;base64,iVBORw0KGgo=';
const data = 'iVBORw0KGgo=';
const imageUrl = (url: string, more: JsonObject = {}) =>
  chat({ type: 'image_url', image_url: { url, ...more } });
const source = (media_type: string) => ({ type: 'base64', media_type, data });
const inline = (mimeType: string) => gemini({ inlineData: { mimeType, data } });
const file = (fileUri: string, mimeType?: string) =>
  gemini({ fileData: { fileUri, ...(mimeType && { mimeType }) } });
const at = (to?: To): Form => refusesIt('at', to);
const plainText = 'Tale\nAn old one.\n\nOnce';
const mark = { cacheControl: { type: 'ephemeral' } };

/** What a user says and shows. */
export const media: readonly RequestRow[] = [
  {
    is: 'a text',
    request: asked(text(' a\n')),
    chat: [
      both({ messages: [{ role: 'user', content: ' a\n' }] }),
      reads(
        {
          messages: [
            { role: 'user', name: 'Ann', content: [{ type: 'text', text: ' a\n', mood: 1 }] },
          ],
        },
        { lost: ['messages.name', 'messages.content.mood'] },
      ),
    ],
    responses: [
      reads({ input: ' a\n' }, { read: {} }),
      reads({ input: [{ role: 'user', content: ' a\n' }] }),
      reads(responses({ type: 'input_text', text: ' a\n' })),
    ],
    messages: [both(claude(t(' a\n'))), reads({ messages: [{ role: 'user', content: ' a\n' }] })],
    gemini: [both(gemini({ text: ' a\n' })), reads({ contents: { parts: [{ text: ' a\n' }] } })],
  },
  {
    is: 'two texts',
    request: asked(text('a\n'), text(' b')),
    chat: both(chat(t('a\n'), t(' b'))),
    responses: reads(
      responses({ type: 'input_text', text: 'a\n' }, { type: 'input_text', text: ' b' }),
    ),
    messages: both(claude(t('a\n'), t(' b'))),
    gemini: both(gemini({ text: 'a\n' }, { text: ' b' })),
  },
  {
    is: 'a text with a cache mark',
    request: asked(text('a', mark)),
    chat: [
      reads(chat({ ...t('a'), cache_control: mark.cacheControl })),
      writes({ messages: [{ role: 'user', content: 'a' }] }, undefined, 'at.cache_control'),
    ],
    responses: [
      reads(
        responses({
          type: 'input_text',
          text: 'a',
          prompt_cache_breakpoint: { mode: 'explicit' },
        }),
      ),
      reads(
        responses({
          type: 'input_text',
          text: 'a',
          prompt_cache_breakpoint: { mode: 'explicit', ttl: '12h' },
        }),
        {
          read: asked(text('a', { cacheControl: { type: 'ephemeral', ttl: '1h' } })),
          lost: ['input[0].content[0].prompt_cache_breakpoint.ttl'],
        },
      ),
    ],
    messages: [
      writes(claude({ ...t('a'), cache_control: mark.cacheControl })),
      reads(claude({ ...t('a'), cache_control: mark.cacheControl }), {
        lost: ['cache_control'],
        read: asked(text('a')),
      }),
    ],
    gemini: writes(gemini({ text: 'a' }), undefined, 'at.cache_control'),
  },
  {
    is: 'an image',
    request: asked(bytes('image/png')),
    chat: [both(imageUrl(png)), at({ mediaInput: ['audio'] })],
    responses: reads(responses({ type: 'input_image', image_url: png })),
    messages: [
      both(claude({ type: 'image', source: source('image/png') })),
      reads(claude({ type: 'image', source: source('image/PNG') })),
    ],
    gemini: [
      both(inline('image/png')),
      reads(gemini({ inlineData: { mimeType: 'Image/PNG', data, displayName: 'a.png' } }), {
        read: asked(bytes('image/png', data, { fileName: 'a.png' })),
      }),
      reads(gemini({ inlineData: { data: 'iVBORw0KGgo' } })),
      at({ mediaInput: ['audio'] }),
    ],
  },
  {
    is: 'an image in URL-safe Base64, or with spaces',
    request: asked(bytes('image/png', 'a+/b')),
    chat: reads(imageUrl('data:image/PNG;base64,a+ /b')),
    gemini: reads(gemini({ inlineData: { mimeType: 'image/png', data: 'a-_b' } })),
  },
  {
    is: 'an image with a low detail',
    request: asked(bytes('image/png', data, { detail: 'low' })),
    chat: both(imageUrl(png, { detail: 'low' })),
    responses: reads(responses({ type: 'input_image', image_url: png, detail: 'low' })),
    messages: writes(claude({ type: 'image', source: source('image/png') }), undefined, 'at'),
    gemini: [
      reads(
        gemini({
          inlineData: { mimeType: 'image/png', data },
          mediaResolution: { level: 'MEDIA_RESOLUTION_LOW' },
        }),
      ),
      writes(inline('image/png'), undefined, 'at.detail'),
      reads(
        gemini({
          inlineData: { mimeType: 'image/png', data },
          mediaResolution: { level: 'MEDIA_RESOLUTION_MEDIUM' },
        }),
        { lost: ['contents[0].parts[0].mediaResolution'], read: asked(bytes('image/png')) },
      ),
    ],
  },
  {
    is: 'an image with any detail',
    request: asked(bytes('image/png', data, { detail: 'auto' })),
    chat: both(imageUrl(png, { detail: 'auto' })),
    messages: writes(claude({ type: 'image', source: source('image/png') })),
    gemini: writes(inline('image/png')),
  },
  {
    is: 'an image by its URL',
    request: asked(remote('https://a.test/b.jpg?c=1', 'image/jpeg')),
    chat: [
      both(imageUrl('https://a.test/b.jpg?c=1')),
      reads(chat({ type: 'image_url', image_url: 'https://a.test/b.jpg?c=1' })),
      at({ mediaUrls: false }),
      at({ mediaInput: [] }),
    ],
    responses: reads(responses({ type: 'input_image', image_url: 'https://a.test/b.jpg?c=1' })),
    messages: [
      writes(claude({ type: 'image', source: { type: 'url', url: 'https://a.test/b.jpg?c=1' } })),
    ],
    gemini: [both(file('https://a.test/b.jpg?c=1', 'image/jpeg')), at('gemini-2.0-flash')],
  },
  {
    is: 'an image by a URL without a type',
    request: asked(remote('https://a.test/x')),
    chat: reads(imageUrl('https://a.test/x')),
    responses: reads(responses({ type: 'input_image', image_url: 'https://a.test/x' })),
    messages: both(claude({ type: 'image', source: { type: 'url', url: 'https://a.test/x' } })),
    gemini: [reads(file('https://a.test/x')), at()],
  },
  {
    is: 'a GIF by its URL',
    request: asked(remote('https://a.test/a.gif')),
    gemini: at(),
  },
  {
    is: 'other kinds of images',
    request: asked(bytes('image/jpg')),
    messages: writes(claude({ type: 'image', source: source('image/jpeg') })),
  },
  {
    is: 'a bitmap',
    request: asked(bytes('image/bmp')),
    messages: at(),
  },
  {
    is: 'a file of Google',
    request: asked(stored('gs://a/b.png', 'image/png')),
    chat: [reads(imageUrl('gs://a/b.png')), at()],
    messages: at(),
    gemini: both(file('gs://a/b.png', 'image/png')),
  },
  {
    is: 'a file of Google whose type the caller states',
    request: asked(stored('gs://a/b.png', 'image/webp')),
    chat: reads(imageUrl('gs://a/b.png', { format: 'image/webp' })),
    gemini: both(file('gs://a/b.png', 'image/webp')),
  },
  {
    is: 'a file of Google without a type',
    request: asked(stored('gs://a/b')),
    chat: at(),
    gemini: both(file('gs://a/b')),
  },
  {
    is: 'a file that was uploaded to Google',
    request: asked(stored('files/abc')),
    chat: at(),
    messages: at(),
    gemini: [reads(file('files/abc')), at()],
  },
  {
    is: 'a file that was uploaded to Google, by its URL',
    request: asked(
      remote('https://generativelanguage.googleapis.com/v1beta/files/abc', 'image/png'),
    ),
    gemini: [
      writes(file('https://generativelanguage.googleapis.com/v1beta/files/abc', 'image/png')),
      reads(file('https://generativelanguage.googleapis.com/v1beta/files/abc'), {
        read: asked(stored('https://generativelanguage.googleapis.com/v1beta/files/abc')),
      }),
    ],
  },
  {
    is: 'a file of OpenAI',
    request: asked(stored('file-1')),
    chat: [reads(chat({ type: 'file', file: { file_id: 'file-1' } })), at()],
    responses: ['input_file', 'input_image'].map((type) =>
      invalid(
        responses({ type, file_id: 'file-1' }),
        'input[0].content[0].file_id',
        'not_portable',
      ),
    ),
    messages: [
      at(),
      ...['image', 'document'].map((type) =>
        invalid(
          claude({ type, source: { type: 'file', file_id: 'file-1' } }),
          'messages[0].content[0].source.file_id',
          'not_portable',
        ),
      ),
    ],
    gemini: at(),
  },
  {
    is: 'a document',
    request: asked(bytes('application/pdf', data, { fileName: 'a.pdf' })),
    chat: [
      both(
        chat({
          type: 'file',
          file: { filename: 'a.pdf', file_data: `data:application/pdf;base64,${data}` },
        }),
      ),
      reads(chat({ type: 'file', file: { filename: 'a.pdf', file_data: 'data:;base64,AAAA' } }), {
        read: asked(bytes('application/pdf', 'AAAA', { fileName: 'a.pdf' })),
      }),
    ],
    responses: reads(
      responses({
        type: 'input_file',
        file_data: `data:application/pdf;base64,${data}`,
        filename: 'a.pdf',
      }),
    ),
    messages: both(claude({ type: 'document', title: 'a.pdf', source: source('application/pdf') })),
    gemini: writes(inline('application/pdf'), undefined, 'at'),
  },
  {
    is: 'a document without a name',
    request: asked(bytes('application/pdf')),
    chat: writes(
      chat({
        type: 'file',
        file: { filename: 'document.pdf', file_data: `data:application/pdf;base64,${data}` },
      }),
    ),
    messages: [
      both(claude({ type: 'document', source: source('application/pdf') })),
      reads(
        claude({
          ...{ type: 'document', source: source('application/pdf') },
          citations: { enabled: false },
        }),
      ),
      reads(
        claude({
          ...{ type: 'document', source: source('application/pdf') },
          citations: { enabled: true },
        }),
        { lost: ['messages[0].content[0].citations'] },
      ),
      reads(
        claude({
          ...{ type: 'document', source: source('application/pdf') },
          context: 'Old.',
        }),
        {
          lost: ['messages[0].content[0].context'],
          read: asked(text('Old.\n\n'), bytes('application/pdf')),
        },
      ),
    ],
    gemini: both(inline('application/pdf')),
  },
  {
    is: 'a document by its URL',
    request: asked(remote('https://a.test/x', 'application/pdf')),
    chat: at(),
    responses: reads(responses({ type: 'input_file', file_url: 'https://a.test/x' })),
    messages: [
      both(claude({ type: 'document', source: { type: 'url', url: 'https://a.test/x' } })),
      reads(
        claude({ type: 'document', title: 'T', source: { type: 'url', url: 'https://a.test/x' } }),
        { read: asked(remote('https://a.test/x', 'application/pdf', { fileName: 'T' })) },
      ),
    ],
    gemini: both(file('https://a.test/x', 'application/pdf')),
  },
  {
    is: 'a file of text',
    request: asked(bytes('text/plain', 'SGk=', { fileName: 'notes.txt' })),
    chat: both(
      chat({
        type: 'file',
        file: { filename: 'notes.txt', file_data: 'data:text/plain;base64,SGk=' },
      }),
    ),
    messages: writes(
      claude({
        ...{ type: 'document', title: 'notes.txt' },
        source: { type: 'text', media_type: 'text/plain', data: 'Hi' },
      }),
    ),
  },
  {
    is: 'a text with a title and a context',
    request: asked(
      bytes('text/plain', Buffer.from(plainText).toString('base64'), { text: plainText }),
    ),
    messages: [
      reads(
        claude({
          ...{ type: 'document', title: 'Tale', context: 'An old one.' },
          source: { type: 'text', media_type: 'text/plain', data: 'Once' },
        }),
        { lost: ['messages[0].content[0].title', 'messages[0].content[0].context'] },
      ),
      writes(
        claude({
          type: 'document',
          source: { type: 'text', media_type: 'text/plain', data: plainText },
        }),
      ),
    ],
  },
  ...['text/csv', 'application/json'].map(
    (mimeType): RequestRow => ({
      is: `a file of ${mimeType}`,
      request: asked(bytes(mimeType, 'SGk=')),
      messages: writes(
        claude({
          type: 'document',
          source: { type: 'text', media_type: 'text/plain', data: 'Hi' },
        }),
      ),
    }),
  ),
  {
    is: 'a document of blocks',
    request: asked(text('one'), bytes('image/png')),
    messages: reads(
      claude({
        type: 'document',
        source: {
          type: 'content',
          content: [t('one'), { type: 'image', source: source('image/png') }],
        },
      }),
    ),
  },
  {
    is: 'a document of one text',
    request: asked(text('one')),
    messages: reads(claude({ type: 'document', source: { type: 'content', content: 'one' } })),
  },
  {
    is: 'a search result',
    request: asked(text('T\nhttps://a.test\n\none\ntwo\n')),
    messages: reads(
      claude({
        ...{ type: 'search_result', title: 'T', source: 'https://a.test' },
        content: [t('one'), t('two')],
      }),
      { lost: ['messages[0].content[0]'] },
    ),
  },
  {
    is: 'audio',
    request: asked(bytes('audio/wav')),
    chat: both(chat({ type: 'input_audio', input_audio: { data, format: 'wav' } })),
    responses: reads(responses({ type: 'input_audio', input_audio: { data, format: 'wav' } })),
    messages: at(),
    gemini: both(inline('audio/wav')),
  },
  {
    is: 'audio under a name that not all know',
    request: asked(bytes('audio/mpeg')),
    chat: [
      writes(chat({ type: 'input_audio', input_audio: { data, format: 'mp3' } })),
      reads(chat({ type: 'input_audio', input_audio: { data, format: 'mp3' } }), {
        read: asked(bytes('audio/mp3')),
      }),
    ],
    gemini: writes(inline('audio/mp3')),
  },
  {
    is: 'audio under an older name',
    request: asked(bytes('audio/x-wav')),
    chat: writes(chat({ type: 'input_audio', input_audio: { data, format: 'wav' } })),
  },
  { is: 'audio in another format', request: asked(bytes('audio/flac')), chat: at() },
  { is: 'a video', request: asked(bytes('video/mp4')), chat: at(), messages: at() },
  {
    is: 'a video by its URL',
    request: asked(remote('https://a.test/a', 'video/mp4')),
    messages: at(),
  },
  ...['https://youtu.be/1', 'https://www.youtube.com/watch?v=1'].map(
    (url): RequestRow => ({
      is: `a video at ${url}`,
      request: asked(remote(url)),
      chat: at(),
      gemini: [reads(file(url)), writes(file(url, 'video/mp4'))],
    }),
  ),
  {
    is: 'a text by its URL',
    request: asked(remote('https://a.test/a', 'text/plain')),
    messages: at(),
  },
  {
    is: 'text that is not UTF-8',
    request: asked(bytes('text/plain', '/w==')),
    messages: at(),
  },
  { is: 'an archive', request: asked(bytes('application/zip')), messages: at() },
  {
    is: 'bytes of an unknown type',
    request: asked(bytes(undefined)),
    messages: at(),
    gemini: at(),
  },
  { is: 'a gs:// URL', request: asked(remote('gs://a/a.png', 'image/png')), chat: at() },
  {
    is: 'a document at an URL that tells its type',
    request: asked(remote('https://a.test/a.pdf')),
    chat: at(),
  },
];
