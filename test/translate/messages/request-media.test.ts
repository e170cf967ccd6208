// suite: quick
/** Images, documents and search results of a Messages request. */
import { describe, expect, it } from 'vitest';
import type { Part } from '../../../src/canonical/request.ts';
import type { JsonObject } from '../../../src/json.ts';
import { refusalOf } from '../responses/read.ts';
import { pdf, png, text } from './blocks.ts';
import { conversation, user } from './read.ts';

/** The parts of a message of the user with these blocks. */
function partsOf(...content: readonly JsonObject[]): readonly Part[] {
  return conversation(user(...content)).turns.flatMap(({ parts }) => parts);
}

describe('media', () => {
  it('in Base64 have the type that they state', () => {
    expect(partsOf({ type: 'image', source: png })).toMatchObject([
      { kind: 'media', mimeType: 'image/png', source: { type: 'base64', data: png.data } },
    ]);
  });

  it('at a URL stay there', () => {
    const source = { type: 'url', url: 'https://a.test/x' };

    expect(partsOf({ type: 'image', source }, { type: 'document', source, title: 'T' })).toEqual([
      { kind: 'media', at: 'messages[0].content[0]', mimeType: undefined, source },
      {
        kind: 'media',
        at: 'messages[0].content[1]',
        mimeType: 'application/pdf',
        source,
        fileName: 'T',
        fileNameAt: 'messages[0].content[1].title',
      },
    ]);
  });

  it.each(['image', 'document'])('that Anthropic stores are refused: %s', (type) => {
    expect(
      refusalOf(() => partsOf({ type, source: { type: 'file', file_id: 'file_1' } })),
    ).toMatchObject({
      code: 'not_portable',
      param: 'messages[0].content[0].source.file_id',
    });
  });

  it.each<[JsonObject, string]>([
    [{ type: 'image' }, 'source'],
    [{ type: 'image', source: 'x' }, 'source'],
    [{ type: 'image', source: { type: 'path' } }, 'source.type'],
    [{ type: 'image', source: { type: 'base64', data: 'x' } }, 'source.media_type'],
    [{ type: 'image', source: { type: 'base64', media_type: 'image/png' } }, 'source.data'],
    [{ type: 'image', source: { type: 'url', url: 'ftp://a.test' } }, 'source.url'],
    [{ type: 'document', source: { type: 'text' } }, 'source.data'],
    [{ type: 'document', source: { type: 'content' } }, 'source.content'],
    [{ type: 'document', source: pdf, title: 7 }, 'title'],
    [{ type: 'document', source: pdf, citations: true }, 'citations'],
    [{ type: 'search_result', source: 's', content: [] }, 'title'],
  ])('%j are refused by their path', (block, path) => {
    expect(refusalOf(() => partsOf(block))).toMatchObject({
      code: 'invalid_request',
      param: `messages[0].content[0].${path}`,
    });
  });
});

describe('a document', () => {
  const at = 'messages[0].content[0]';

  it('of text is a file of text, whose title and context are its first lines', () => {
    const source = { type: 'text', media_type: 'text/plain', data: 'Once …' };
    const { turns, dropped } = conversation(
      user({ type: 'document', source, title: 'Tale', context: 'An old one.' }),
    );
    const whole = 'Tale\nAn old one.\n\nOnce …';

    expect(turns[0]?.parts).toEqual([
      {
        kind: 'media',
        at,
        mimeType: 'text/plain',
        source: { type: 'base64', data: Buffer.from(whole).toString('base64') },
        text: whole,
      },
    ]);
    expect(dropped).toEqual([`${at}.title`, `${at}.context`]);
  });

  it('of blocks is these blocks', () => {
    const content = [text('one'), { type: 'image', source: png }];

    expect(partsOf({ type: 'document', source: { type: 'content', content } })).toMatchObject([
      { kind: 'text', text: 'one', at: `${at}.source.content[0]` },
      { kind: 'media', at: `${at}.source.content[1]` },
    ]);
    expect(partsOf({ type: 'document', source: { type: 'content', content: 'one' } })).toEqual([
      { kind: 'text', text: 'one', at: `${at}.source.content` },
    ]);
  });

  it('has its context before it', () => {
    const { turns, dropped } = conversation(
      user({ type: 'document', source: pdf, title: 'T.pdf', context: 'Old.' }),
    );

    expect(turns[0]?.parts).toMatchObject([
      { kind: 'text', text: 'Old.\n\n' },
      { kind: 'media', fileName: 'T.pdf' },
    ]);
    expect(dropped).toEqual([`${at}.context`]);
  });

  it('is not cited, which is listed', () => {
    const citing = (enabled: boolean): JsonObject => ({
      type: 'document',
      source: pdf,
      citations: { enabled },
    });

    expect(conversation(user(citing(true))).dropped).toEqual([`${at}.citations`]);
    expect(conversation(user(citing(false))).dropped).toEqual([]);
  });
});

describe('a search result', () => {
  it('becomes text with its title and its source', () => {
    const content = [text('one'), text('two')];
    const { turns, dropped } = conversation(
      user({ type: 'search_result', title: 'T', source: 'https://a.test', content }),
    );

    expect(turns[0]?.parts).toMatchObject([{ text: 'T\nhttps://a.test\n\none\ntwo\n' }]);
    expect(dropped).toEqual(['messages[0].content[0]']);
  });
});
