// suite: quick
/** The content of the messages of a Responses request. */
import { describe, expect, it } from 'vitest';
import type { JsonObject } from '../../../src/json.ts';
import { conversation, refusalOf } from './read.ts';

const user: JsonObject = { role: 'user', content: 'Hi' };

describe('messages', () => {
  it.each<[string, JsonObject, object]>([
    ['a string', { role: 'user', content: 'x' }, { kind: 'text', text: 'x' }],
    [
      'output_text, without what describes the reply',
      {
        type: 'message',
        role: 'assistant',
        id: 'msg_1',
        status: 'completed',
        phase: 'commentary',
        content: [
          { type: 'output_text', text: 'x', annotations: [{}], logprobs: [{}], parsed: { a: 1 } },
        ],
      },
      { kind: 'text', text: 'x' },
    ],
    [
      'a refusal',
      { role: 'assistant', content: [{ type: 'refusal', refusal: 'no' }] },
      { kind: 'text', text: 'no' },
    ],
    [
      'an image as a data URL',
      {
        role: 'user',
        content: [{ type: 'input_image', image_url: 'data:image/png;base64,AAAA', detail: 'low' }],
      },
      {
        kind: 'media',
        mimeType: 'image/png',
        source: { type: 'base64', data: 'AAAA' },
        detail: 'low',
      },
    ],
    [
      'an image URL',
      { role: 'user', content: [{ type: 'input_image', image_url: 'https://a.test/i.png' }] },
      { kind: 'media', source: { type: 'url', url: 'https://a.test/i.png' } },
    ],
    [
      'a file',
      {
        role: 'user',
        content: [
          {
            type: 'input_file',
            file_data: 'data:application/pdf;base64,AAAA',
            filename: 'a.pdf',
          },
        ],
      },
      {
        kind: 'media',
        mimeType: 'application/pdf',
        source: { type: 'base64', data: 'AAAA' },
        fileName: 'a.pdf',
      },
    ],
    [
      'a file URL, which is a document if nothing says otherwise',
      { role: 'user', content: [{ type: 'input_file', file_url: 'https://a.test/get?id=1' }] },
      { kind: 'media', mimeType: 'application/pdf', source: { type: 'url' } },
    ],
    [
      'audio',
      {
        role: 'user',
        content: [{ type: 'input_audio', input_audio: { data: 'AAAA', format: 'wav' } }],
      },
      { kind: 'media', mimeType: 'audio/wav' },
    ],
  ])('%s', (_, message, part) => {
    const { turns, dropped } = conversation(user, message, user);

    expect(turns[1]?.parts).toMatchObject([part]);
    expect(dropped).toEqual([]);
  });

  it.each<[JsonObject, string, string]>([
    [{ role: 'tool', content: 'x' }, 'input[0].role', 'invalid_request'],
    [{ role: 'user', content: [] }, 'input[0].content', 'invalid_request'],
    [{ role: 'user' }, 'input[0].content', 'invalid_request'],
    [{ role: 'user', content: 5 }, 'input[0].content', 'invalid_request'],
    [
      { role: 'user', content: [{ type: 'input_text' }] },
      'input[0].content[0].text',
      'invalid_request',
    ],
    [
      { role: 'user', content: [{ type: 'input_image', image_url: 'ftp://a' }] },
      'input[0].content[0].image_url',
      'invalid_request',
    ],
    [
      { role: 'user', content: [{ type: 'input_image', file_id: 'file-1' }] },
      'input[0].content[0].file_id',
      'not_portable',
    ],
    [
      { role: 'user', content: [{ type: 'input_file', file_id: 'file-1' }] },
      'input[0].content[0].file_id',
      'not_portable',
    ],
    [{ role: 'user', content: [{ type: 'input_file' }] }, 'input[0].content[0]', 'invalid_request'],
    [
      { role: 'user', content: [{ type: 'computer_screenshot' }] },
      'input[0].content[0].type',
      'not_portable',
    ],
    [
      { role: 'system', content: [{ type: 'input_image', image_url: 'https://a.test/i.png' }] },
      'input[0].content[0]',
      'invalid_request',
    ],
  ])('%j is refused', (message, param, code) => {
    expect(refusalOf(() => conversation(message))).toMatchObject({ code, param });
  });

  it('a cache mark becomes that of Anthropic, with its longest lifetime if one is set', () => {
    const part = { type: 'input_text', text: 'x' };
    const content = [
      { ...part, prompt_cache_breakpoint: { mode: 'explicit' } },
      { ...part, prompt_cache_breakpoint: { mode: 'explicit', ttl: '12h' } },
    ];
    const { turns, dropped } = conversation({ role: 'user', content });

    expect(turns[0]?.parts).toMatchObject([
      { cacheControl: { type: 'ephemeral' } },
      { cacheControl: { type: 'ephemeral', ttl: '1h' } },
    ]);
    expect(dropped).toEqual(['input[0].content[1].prompt_cache_breakpoint.ttl']);
  });
});
