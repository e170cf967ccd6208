/** Texts, images, documents and other media of a message of the user. */

import type { Part } from '../../../src/canonical/request.ts';
import type { JsonObject, JsonValue } from '../../../src/json.ts';
import { user } from '../../support/plain-request.ts';
import { json } from './fragments.ts';
import { bytes, remote, stored, text } from './parts.ts';
import { type Form, type RequestRow, reads, refusesIt, writes } from './request-rows.ts';
import { requestRow } from './wire-text.ts';
import type { To } from './wires.ts';

const fromUser = (...parts: readonly Part[]) => ({ turns: [user(...parts)] });
const one = (...content: readonly JsonObject[]): JsonValue => [{ role: 'user', content }];
const claude = (...parts: readonly JsonObject[]) => ({ messages: one(...parts) });
const gemini = (...parts: readonly JsonObject[]) => ({ contents: [{ role: 'user', parts }] });

const data = 'iVBORw0KGgo=';
const file = (fileUri: string, mimeType?: string) =>
  gemini({ fileData: { fileUri, ...(mimeType && { mimeType }) } });
const at = (to?: To): Form => refusesIt('at', to);
const plainText = 'Tale\nAn old one.\n\nOnce';
const mark = { cacheControl: { type: 'ephemeral' } };

/** What a user says and shows. */
export const media: readonly RequestRow[] = [
  requestRow('a text', fromUser(text(' a\n')))`
    chat <> {messages:[{role:"user",content:" a\n"}]}
    chat < {messages:[{role:"user",name:"Ann",content:[{type:"text",text:" a\n",mood:1}]}]}
      | lost messages.name, messages.content.mood
    responses < {input:" a\n"} | read ${{}}
    responses < {input:[{role:"user",content:" a\n"}]}
    responses < {input:[{role:"user",content:[{type:"input_text",text:" a\n"}]}]}
    messages <> {messages:[{role:"user",content:[{type:"text",text:" a\n"}]}]}
    messages < {messages:[{role:"user",content:" a\n"}]}
    gemini <> {contents:[{role:"user",parts:[{text:" a\n"}]}]}
    gemini < {contents:{parts:[{text:" a\n"}]}}
  `,
  requestRow('two texts', fromUser(text('a\n'), text(' b')))`
    chat <> {messages:[{role:"user",content:[{type:"text",text:"a\n"},{type:"text",text:" b"}]}]}
    responses < {input:[{role:"user",content:[{type:"input_text",text:"a\n"},{type:"input_text",
      text:" b"}]}]}
    messages <> {messages:[{role:"user",content:[{type:"text",text:"a\n"},{type:"text",
      text:" b"}]}]}
    gemini <> {contents:[{role:"user",parts:[{text:"a\n"},{text:" b"}]}]}
  `,
  requestRow('a text with a cache mark', fromUser(text('a', mark)))`
    chat < {messages:[{role:"user",content:[{type:"text",text:"a",cache_control:
      {type:"ephemeral"}}]}]}
    chat > {messages:[{role:"user",content:"a"}]} | lost at.cache_control
    responses < {input:[{role:"user",content:[{type:"input_text",text:"a",prompt_cache_breakpoint:
      {mode:"explicit"}}]}]}
    responses < {input:[{role:"user",content:[{type:"input_text",text:"a",prompt_cache_breakpoint:
      {mode:"explicit",ttl:"12h"}}]}]}
      | read ${fromUser(text('a', { cacheControl: { type: 'ephemeral', ttl: '1h' } }))}
      | lost input[0].content[0].prompt_cache_breakpoint.ttl
    messages > {messages:[{role:"user",content:[{type:"text",text:"a",cache_control:
      {type:"ephemeral"}}]}]}
    messages < {messages:[{role:"user",content:[{type:"text",text:"a",cache_control:
      {type:"ephemeral"}}]}]} | read ${fromUser(text('a'))} | lost cache_control
    gemini > {contents:[{role:"user",parts:[{text:"a"}]}]} | lost at.cache_control
  `,
  requestRow('an image', fromUser(bytes('image/png')))`
    chat <> {messages:[{role:"user",content:[{type:"image_url",image_url:
      {url:"data:image/png;base64,iVBORw0KGgo="}}]}]}
    chat > {} | to {mediaInput:["audio"]} | refused not_portable at
    responses < {input:[{role:"user",content:[{type:"input_image",
      image_url:"data:image/png;base64,iVBORw0KGgo="}]}]}
    messages <> {messages:[{role:"user",content:[${json.png}]}]}
    messages < {messages:[{role:"user",content:[{type:"image",source:{type:"base64",
      media_type:"image/PNG",data:"iVBORw0KGgo="}}]}]}
    gemini <> {contents:[{role:"user",parts:[{inlineData:{mimeType:"image/png",
      data:"iVBORw0KGgo="}}]}]}
    gemini < {contents:[{role:"user",parts:[{inlineData:{mimeType:"Image/PNG",data:"iVBORw0KGgo=",
      displayName:"a.png"}}]}]} | read ${fromUser(bytes('image/png', data, { fileName: 'a.png' }))}
    gemini < {contents:[{role:"user",parts:[{inlineData:{data:"iVBORw0KGgo"}}]}]}
    gemini > {} | to {mediaInput:["audio"]} | refused not_portable at
  `,
  requestRow('an image in URL-safe Base64, or with spaces', fromUser(bytes('image/png', 'a+/b')))`
    chat < {messages:[{role:"user",content:[{type:"image_url",image_url:
      {url:"data:image/PNG;base64,a+ /b"}}]}]}
    gemini < {contents:[{role:"user",parts:[{inlineData:{mimeType:"image/png",data:"a-_b"}}]}]}
  `,
  requestRow('an image with a low detail', fromUser(bytes('image/png', data, { detail: 'low' })))`
    chat <> {messages:[{role:"user",content:[{type:"image_url",image_url:
      {url:"data:image/png;base64,iVBORw0KGgo=",detail:"low"}}]}]}
    responses < {input:[{role:"user",content:[{type:"input_image",
      image_url:"data:image/png;base64,iVBORw0KGgo=",detail:"low"}]}]}
    messages > {messages:[{role:"user",content:[${json.png}]}]} | lost at
    gemini < {contents:[{role:"user",parts:[{inlineData:{mimeType:"image/png",data:"iVBORw0KGgo="},
      mediaResolution:{level:"MEDIA_RESOLUTION_LOW"}}]}]}
    gemini > {contents:[{role:"user",parts:[{inlineData:{mimeType:"image/png",
      data:"iVBORw0KGgo="}}]}]} | lost at.detail
    gemini < {contents:[{role:"user",parts:[{inlineData:{mimeType:"image/png",data:"iVBORw0KGgo="},
      mediaResolution:{level:"MEDIA_RESOLUTION_MEDIUM"}}]}]} | read ${fromUser(bytes('image/png'))}
      | lost contents[0].parts[0].mediaResolution
  `,
  requestRow('an image with any detail', fromUser(bytes('image/png', data, { detail: 'auto' })))`
    chat <> {messages:[{role:"user",content:[{type:"image_url",image_url:
      {url:"data:image/png;base64,iVBORw0KGgo=",detail:"auto"}}]}]}
    messages > {messages:[{role:"user",content:[${json.png}]}]}
    gemini > {contents:[{role:"user",parts:[{inlineData:{mimeType:"image/png",
      data:"iVBORw0KGgo="}}]}]}
  `,
  requestRow('an image by its URL', fromUser(remote('https://a.test/b.jpg?c=1', 'image/jpeg')))`
    chat <> {messages:[{role:"user",content:[{type:"image_url",image_url:
      {url:"https://a.test/b.jpg?c=1"}}]}]}
    chat < {messages:[{role:"user",content:[{type:"image_url",
      image_url:"https://a.test/b.jpg?c=1"}]}]}
    chat > {} | to {mediaUrls:false} | refused not_portable at
    chat > {} | to {mediaInput:[]} | refused not_portable at
    responses < {input:[{role:"user",content:[{type:"input_image",
      image_url:"https://a.test/b.jpg?c=1"}]}]}
    messages > {messages:[{role:"user",content:[{type:"image",source:{type:"url",
      url:"https://a.test/b.jpg?c=1"}}]}]}
    gemini <> {contents:[{role:"user",parts:[{fileData:{fileUri:"https://a.test/b.jpg?c=1",
      mimeType:"image/jpeg"}}]}]}
    gemini > {} | to "gemini-2.0-flash" | refused not_portable at
  `,
  requestRow('an image by a URL without a type', fromUser(remote('https://a.test/x')))`
    chat < {messages:[{role:"user",content:[{type:"image_url",image_url:
      {url:"https://a.test/x"}}]}]}
    responses < {input:[{role:"user",content:[{type:"input_image",image_url:"https://a.test/x"}]}]}
    messages <> {messages:[{role:"user",content:[{type:"image",source:{type:"url",
      url:"https://a.test/x"}}]}]}
    gemini < {contents:[{role:"user",parts:[{fileData:{fileUri:"https://a.test/x"}}]}]}
    gemini > {} | refused not_portable at
  `,
  requestRow('a GIF by its URL', fromUser(remote('https://a.test/a.gif')))`
    gemini > {} | refused not_portable at
  `,
  requestRow('other kinds of images', fromUser(bytes('image/jpg')))`
    messages > {messages:[{role:"user",content:[{type:"image",source:{type:"base64",
      media_type:"image/jpeg",data:"iVBORw0KGgo="}}]}]}
  `,
  requestRow('a bitmap', fromUser(bytes('image/bmp')))`
    messages > {} | refused not_portable at
  `,
  requestRow('a file of Google', fromUser(stored('gs://a/b.png', 'image/png')))`
    chat < {messages:[{role:"user",content:[{type:"image_url",image_url:{url:"gs://a/b.png"}}]}]}
    chat > {} | refused not_portable at
    messages > {} | refused not_portable at
    gemini <> {contents:[{role:"user",parts:[{fileData:{fileUri:"gs://a/b.png",
      mimeType:"image/png"}}]}]}
  `,
  requestRow(
    'a file of Google whose type the caller states',
    fromUser(stored('gs://a/b.png', 'image/webp')),
  )`
    chat < {messages:[{role:"user",content:[{type:"image_url",image_url:{url:"gs://a/b.png",
      format:"image/webp"}}]}]}
    gemini <> {contents:[{role:"user",parts:[{fileData:{fileUri:"gs://a/b.png",
      mimeType:"image/webp"}}]}]}
  `,
  requestRow('a file of Google without a type', fromUser(stored('gs://a/b')))`
    chat > {} | refused not_portable at
    gemini <> {contents:[{role:"user",parts:[{fileData:{fileUri:"gs://a/b"}}]}]}
  `,
  requestRow('a file that was uploaded to Google', fromUser(stored('files/abc')))`
    chat > {} | refused not_portable at
    messages > {} | refused not_portable at
    gemini < {contents:[{role:"user",parts:[{fileData:{fileUri:"files/abc"}}]}]}
    gemini > {} | refused not_portable at
  `,
  requestRow(
    'a file that was uploaded to Google, by its URL',
    fromUser(remote('https://generativelanguage.googleapis.com/v1beta/files/abc', 'image/png')),
  )`
    gemini > {contents:[{role:"user",parts:[{fileData:
      {fileUri:"https://generativelanguage.googleapis.com/v1beta/files/abc",
      mimeType:"image/png"}}]}]}
    gemini < {contents:[{role:"user",parts:[{fileData:
      {fileUri:"https://generativelanguage.googleapis.com/v1beta/files/abc"}}]}]}
      | read ${fromUser(stored('https://generativelanguage.googleapis.com/v1beta/files/abc'))}
  `,
  requestRow('a file of OpenAI', fromUser(stored('file-1')))`
    chat < {messages:[{role:"user",content:[{type:"file",file:{file_id:"file-1"}}]}]}
    chat > {} | refused not_portable at
    responses < {input:[{role:"user",content:[{type:"input_file",file_id:"file-1"}]}]}
      | refused not_portable input[0].content[0].file_id
    responses < {input:[{role:"user",content:[{type:"input_image",file_id:"file-1"}]}]}
      | refused not_portable input[0].content[0].file_id
    messages > {} | refused not_portable at
    messages < {messages:[{role:"user",content:[{type:"image",source:{type:"file",
      file_id:"file-1"}}]}]} | refused not_portable messages[0].content[0].source.file_id
    messages < {messages:[{role:"user",content:[{type:"document",source:{type:"file",
      file_id:"file-1"}}]}]} | refused not_portable messages[0].content[0].source.file_id
    gemini > {} | refused not_portable at
  `,
  requestRow('a document', fromUser(bytes('application/pdf', data, { fileName: 'a.pdf' })))`
    chat <> {messages:[{role:"user",content:[{type:"file",file:{filename:"a.pdf",
      file_data:"data:application/pdf;base64,iVBORw0KGgo="}}]}]}
    chat < {messages:[{role:"user",content:[{type:"file",file:{filename:"a.pdf",
      file_data:"data:;base64,AAAA"}}]}]}
      | read ${fromUser(bytes('application/pdf', 'AAAA', { fileName: 'a.pdf' }))}
    responses < {input:[{role:"user",content:[{type:"input_file",
      file_data:"data:application/pdf;base64,iVBORw0KGgo=",filename:"a.pdf"}]}]}
    messages <> {messages:[{role:"user",content:[{type:"document",title:"a.pdf",source:
      {type:"base64",media_type:"application/pdf",data:"iVBORw0KGgo="}}]}]}
    gemini > {contents:[{role:"user",parts:[{inlineData:{mimeType:"application/pdf",
      data:"iVBORw0KGgo="}}]}]} | lost at
  `,
  requestRow('a document without a name', fromUser(bytes('application/pdf')))`
    chat > {messages:[{role:"user",content:[{type:"file",file:{filename:"document.pdf",
      file_data:"data:application/pdf;base64,iVBORw0KGgo="}}]}]}
    messages <> {messages:[{role:"user",content:[{type:"document",source:{type:"base64",
      media_type:"application/pdf",data:"iVBORw0KGgo="}}]}]}
    messages < {messages:[{role:"user",content:[{type:"document",source:{type:"base64",
      media_type:"application/pdf",data:"iVBORw0KGgo="},citations:{enabled:false}}]}]}
    messages < {messages:[{role:"user",content:[{type:"document",source:{type:"base64",
      media_type:"application/pdf",data:"iVBORw0KGgo="},citations:{enabled:true}}]}]}
      | lost messages[0].content[0].citations
    messages < {messages:[{role:"user",content:[{type:"document",source:{type:"base64",
      media_type:"application/pdf",data:"iVBORw0KGgo="},context:"Old."}]}]}
      | read ${fromUser(text('Old.\n\n'), bytes('application/pdf'))}
      | lost messages[0].content[0].context
    gemini <> {contents:[{role:"user",parts:[{inlineData:{mimeType:"application/pdf",
      data:"iVBORw0KGgo="}}]}]}
  `,
  requestRow('a document by its URL', fromUser(remote('https://a.test/x', 'application/pdf')))`
    chat > {} | refused not_portable at
    responses < {input:[{role:"user",content:[{type:"input_file",file_url:"https://a.test/x"}]}]}
    messages <> {messages:[{role:"user",content:[{type:"document",source:{type:"url",
      url:"https://a.test/x"}}]}]}
    messages < {messages:[{role:"user",content:[{type:"document",title:"T",source:{type:"url",
      url:"https://a.test/x"}}]}]}
      | read ${fromUser(remote('https://a.test/x', 'application/pdf', { fileName: 'T' }))}
    gemini <> {contents:[{role:"user",parts:[{fileData:{fileUri:"https://a.test/x",
      mimeType:"application/pdf"}}]}]}
  `,
  requestRow('a file of text', fromUser(bytes('text/plain', 'SGk=', { fileName: 'notes.txt' })))`
    chat <> {messages:[{role:"user",content:[{type:"file",file:{filename:"notes.txt",
      file_data:"data:text/plain;base64,SGk="}}]}]}
    messages > {messages:[{role:"user",content:[{type:"document",title:"notes.txt",source:
      {type:"text",media_type:"text/plain",data:"Hi"}}]}]}
  `,
  requestRow(
    'a text with a title and a context',
    fromUser(bytes('text/plain', Buffer.from(plainText).toString('base64'), { text: plainText })),
  )`
    messages < {messages:[{role:"user",content:[{type:"document",title:"Tale",context:"An old one.",
      source:{type:"text",media_type:"text/plain",data:"Once"}}]}]}
      | lost messages[0].content[0].title, messages[0].content[0].context
    messages > {messages:[{role:"user",content:[{type:"document",source:{type:"text",
      media_type:"text/plain",data:"Tale\nAn old one.\n\nOnce"}}]}]}
  `,
  ...['text/csv', 'application/json'].map(
    (mimeType): RequestRow => ({
      is: `a file of ${mimeType}`,
      request: fromUser(bytes(mimeType, 'SGk=')),
      messages: writes(
        claude({
          type: 'document',
          source: { type: 'text', media_type: 'text/plain', data: 'Hi' },
        }),
      ),
    }),
  ),
  requestRow('a document of blocks', fromUser(text('one'), bytes('image/png')))`
    messages < {messages:[{role:"user",content:[{type:"document",source:{type:"content",content:
      [{type:"text",text:"one"},${json.png}]}}]}]}
  `,
  requestRow('a document of one text', fromUser(text('one')))`
    messages < {messages:[{role:"user",content:[{type:"document",source:{type:"content",
      content:"one"}}]}]}
  `,
  requestRow('a search result', fromUser(text('T\nhttps://a.test\n\none\ntwo\n')))`
    messages < {messages:[{role:"user",content:[{type:"search_result",title:"T",
      source:"https://a.test",content:[{type:"text",text:"one"},{type:"text",text:"two"}]}]}]}
      | lost messages[0].content[0]
  `,
  requestRow('audio', fromUser(bytes('audio/wav')))`
    chat <> {messages:[{role:"user",content:[{type:"input_audio",input_audio:{data:"iVBORw0KGgo=",
      format:"wav"}}]}]}
    responses < {input:[{role:"user",content:[{type:"input_audio",input_audio:{data:"iVBORw0KGgo=",
      format:"wav"}}]}]}
    messages > {} | refused not_portable at
    gemini <> {contents:[{role:"user",parts:[{inlineData:{mimeType:"audio/wav",
      data:"iVBORw0KGgo="}}]}]}
  `,
  requestRow('audio under a name that not all know', fromUser(bytes('audio/mpeg')))`
    chat > {messages:[{role:"user",content:[{type:"input_audio",input_audio:{data:"iVBORw0KGgo=",
      format:"mp3"}}]}]}
    chat < {messages:[{role:"user",content:[{type:"input_audio",input_audio:{data:"iVBORw0KGgo=",
      format:"mp3"}}]}]} | read ${fromUser(bytes('audio/mp3'))}
    gemini > {contents:[{role:"user",parts:[{inlineData:{mimeType:"audio/mp3",
      data:"iVBORw0KGgo="}}]}]}
  `,
  requestRow('audio under an older name', fromUser(bytes('audio/x-wav')))`
    chat > {messages:[{role:"user",content:[{type:"input_audio",input_audio:{data:"iVBORw0KGgo=",
      format:"wav"}}]}]}
  `,
  requestRow('audio in another format', fromUser(bytes('audio/flac')))`
    chat > {} | refused not_portable at
  `,
  requestRow('a video', fromUser(bytes('video/mp4')))`
    chat > {} | refused not_portable at
    messages > {} | refused not_portable at
  `,
  requestRow('a video by its URL', fromUser(remote('https://a.test/a', 'video/mp4')))`
    messages > {} | refused not_portable at
  `,
  ...['https://youtu.be/1', 'https://www.youtube.com/watch?v=1'].map(
    (url): RequestRow => ({
      is: `a video at ${url}`,
      request: fromUser(remote(url)),
      chat: at(),
      gemini: [reads(file(url)), writes(file(url, 'video/mp4'))],
    }),
  ),
  requestRow('a text by its URL', fromUser(remote('https://a.test/a', 'text/plain')))`
    messages > {} | refused not_portable at
  `,
  requestRow('text that is not UTF-8', fromUser(bytes('text/plain', '/w==')))`
    messages > {} | refused not_portable at
  `,
  requestRow('an archive', fromUser(bytes('application/zip')))`
    messages > {} | refused not_portable at
  `,
  requestRow('bytes of an unknown type', fromUser(bytes(undefined)))`
    messages > {} | refused not_portable at
    gemini > {} | refused not_portable at
  `,
  requestRow('a gs:// URL', fromUser(remote('gs://a/a.png', 'image/png')))`
    chat > {} | refused not_portable at
  `,
  requestRow('a document at an URL that tells its type', fromUser(remote('https://a.test/a.pdf')))`
    chat > {} | refused not_portable at
  `,
];
