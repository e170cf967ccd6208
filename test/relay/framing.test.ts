// suite: slow
/**
 * Whatever framing an upstream uses, chat callers get the data of each event, and Google's parsers
 * get events that they can read.
 */
import { isUtf8 } from 'node:buffer';
import { describe, expect, it } from 'vitest';
import { anyModelGateway, type CallerRequest, chat, native } from '../support/any-model-gateway.ts';
import { scriptedUpstream } from '../support/scripted-upstream.ts';
import { brokenStream, bytewise, pieces, sse } from './streams.ts';

const first = '{"choices":[{"index":0,"delta":{"content":"caf\u00e9 \u2028"}}]}';
const last = '{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}';
const usage = '{"choices":[],"usage":{"prompt_tokens":3,"completion_tokens":5,"total_tokens":8}}';
const figures = { inputTokens: 3, cachedInputTokens: 0, outputTokens: 5, images: 0 };

/** Ways to frame the three documents of a chat stream. */
const framings: readonly (readonly [string, (document: string) => string])[] = [
  ['LF', (document) => `data: ${document}\n\n`],
  ['CRLF', (document) => `data: ${document}\r\n\r\n`],
  ['CR', (document) => `data: ${document}\r\r`],
  ['no space', (document) => `data:${document}\n\n`],
  ['an id and a retry', (document) => `id: 1\nretry: 5\ndata: ${document}\n\n`],
  ['an event’s name', (document) => `event: message\ndata: ${document}\r\n\r\n`],
  ['comments', (document) => `: ping\ndata: ${document}\n: pong\n\n`],
  ['two lines', (document) => `data: ${document.replace(',', ',\ndata: ')}\n\n`],
  ['mixed line ends', (document) => `data: ${document}\n\r\n`],
  ['blank lines in front', (document) => `\r\n\n\rdata: ${document}\r\n\r\n`],
];

describe('a chat stream', () => {
  const isAddedTo = (name: string) => /id|name|comments|blank/.test(name);

  it.each(
    framings,
  )('framed by %s keeps its data, except for the usage event', async (name, frame) => {
    const text = [first, last, usage, '[DONE]'].map(frame).join('');
    // Ids, names and comments are removed, which reframes events that have them.
    const framed = (document: string): string => {
      if (name === 'blank lines in front') return frame(document).trimStart();
      return isAddedTo(name) ? `data: ${document}\n\n` : frame(document);
    };
    const expected = [first, last, '[DONE]'].map(framed).join('');

    for (const chunks of cutsOf(text)) {
      const { answer: reply, record } = await relayed(chat(), chunks);

      expect(reply.text).toBe(expected);
      expect(record).toMatchObject({ outcome: 'complete', usage: figures });
    }
  });

  it('loses its byte order mark, which makes a client miss the first event', async () => {
    const text = `data: ${first}\n\ndata: [DONE]\n\n`;

    expect((await relayed(chat(), [`\uFEFF${text}`])).answer.text).toBe(text);
  });

  it('uses the last valid usage, wherever it is', async () => {
    const beside = last.replace('}]', `}],"usage":{"prompt_tokens":3,"completion_tokens":1}`);
    const early = `data: ${usage}\n\ndata: ${last.replace('{', '{"usage":null,')}\n\n`;
    const absurd = `data: ${usage.replace('8', '1e18')}\n\n`;

    const twice = await relayed(chat(), [`data: ${beside}\n\n`, `data: ${usage}\n\n`]);
    const wrongPlace = await relayed(chat(), [early]);
    const lie = await relayed(chat(), [`data: ${usage}\n\ndata: ${last}\n\n${absurd}`]);

    expect(twice.record?.usage).toEqual(figures);
    expect(wrongPlace.record?.usage).toEqual(figures);
    expect(lie.record?.usage).toEqual(figures);
    expect(lie.answer.text).toBe(`data: ${last}\n\n`);
  });

  it('ends at [DONE]: nothing after it is passed on, and the upstream may finish', async () => {
    const text = `data: ${first}\n\ndata: [DONE]\n\n`;
    const extra = `data: ${usage}\n\n`;

    for (const chunks of [
      [`${text}${extra}`],
      [text, extra],
      bytewise(Buffer.from(text + extra)),
    ]) {
      const { answer: reply, aborted, record } = await relayed(chat(), chunks);

      expect(reply.text).toBe(text);
      expect(aborted).toBe(0);
      expect(record).toMatchObject({ outcome: 'complete', usage: undefined, basis: 'counted' });
    }
  });

  it('does not end at text that contains [DONE]', async () => {
    const message = first.replace('caf\u00e9', 'data: [DONE]');
    const text = `data: ${message}\n\ndata: ${last}\n\ndata: [DONE]\n\n`;

    for (const chunks of cutsOf(text)) {
      expect((await relayed(chat(), chunks)).answer.text).toBe(text);
    }
  });

  it('ends with an error of the gateway at an event that is not JSON', async () => {
    const text = `data: ${first}\n\ndata: {"error" oops\n\ndata: [DONE]\n\n`;

    const { answer: reply, record } = await relayed(chat(), [text]);

    expect(brokenStream('chat', reply)?.before).toBe(`data: ${first}\n\n`);
    expect(record).toMatchObject({ outcome: 'broken', reason: 'upstream_bad_stream' });
  });

  it('without usage is charged by counting its text, whatever its framing', async () => {
    const charges = await Promise.all(
      framings.slice(0, 3).map(async ([, frame]) => {
        const text = Array.from({ length: 20 }, () => frame(first)).join('');
        return (await relayed(chat(), [text, frame('[DONE]')])).record;
      }),
    );

    for (const record of charges) {
      expect(record?.basis).toBe('counted');
      expect(record?.chargeNanos).toBeGreaterThanOrEqual(20n);
    }
  });
});

describe('a native stream', () => {
  const part = (text: string) =>
    `{"candidates":[{"content":{"parts":[{"text":"${text}"}]},"finishReason":"STOP"}]}`;
  const document = part('caf\u00e9');
  const framed = `data: ${document}\r\n\r\n`;

  it('that Google’s parsers can read is not changed', async () => {
    for (const text of [framed, framed.replaceAll('\r', ''), `${framed}data: {}\r\n\r\n`]) {
      for (const chunks of cutsOf(text)) {
        expect((await relayed(native(), chunks)).answer.text).toBe(text);
      }
    }
  });

  it.each([
    ...framings.filter(([name]) => name !== 'LF'),
    ['CRLF, then LF', (framed: string) => `data: ${framed}\r\n\n`] as const,
    ['one CR too many', (framed: string) => `data: ${framed}\r\r\n\r\n`] as const,
  ])('framed by %s is reframed', async (_, frame) => {
    const joined = document.replace(',', frame(',').includes('data: ,\ndata') ? ', ' : ',');
    const text = `${frame(document)}${frame(document)}`;

    for (const chunks of cutsOf(text)) {
      const { answer: reply } = await relayed(native(), chunks);

      expect(reply.text.replaceAll(', ', ',')).toBe(
        `data: ${joined}\r\n\r\n`.repeat(2).replaceAll(', ', ','),
      );
    }
  });

  it('loses its byte order mark, comments, [DONE] and blank lines', async () => {
    const text = `\uFEFF: ping\r\n\r\n\r\n${framed}:\n\ndata: [DONE]\n\n`;

    for (const chunks of cutsOf(text)) {
      expect((await relayed(native(), chunks)).answer.text).toBe(framed);
    }
  });

  it('has U+2028 and U+2029 escaped', async () => {
    const text = framed.replace('caf\u00e9', '\u2028\u2029');

    const { answer: reply } = await relayed(native(), [text]);

    expect(reply.text).toBe(`data: ${part('\\u2028\\u2029')}\r\n\r\n`);
  });

  it('has bytes that are not UTF-8 replaced, only in the event that contains them', async () => {
    const good = `data: ${part('na\u00efve')}\n\n`;
    const bad = Buffer.from(framed.replace('\u00e9', '\u00e9\u00ff'), 'latin1');
    const bytes = Buffer.concat([Buffer.from(good), bad, Buffer.from(good)]);

    for (const chunks of [[bytes], bytewise(bytes)]) {
      const { answer: reply } = await relayed(native(), chunks);

      expect(reply.text).toBe(`${good}data: ${part('caf\ufffd\ufffd')}\r\n\r\n${good}`);
      expect(isUtf8(reply.bytes)).toBe(true);
    }
  });

  it('without its last blank line gets one', async () => {
    for (const end of ['', '\r', '\r\n', '\n']) {
      expect((await relayed(native(), [`data: ${document}${end}`])).answer.text).toBe(framed);
    }
  });

  it('without framing is one event', async () => {
    const pretty = JSON.stringify(JSON.parse(document), null, 2);

    const { answer: reply } = await relayed(native(), [pretty]);

    expect(JSON.parse(reply.text.replace('data: ', ''))).toEqual(JSON.parse(document));
    expect(reply.text).toMatch(/^data: [^\n]*\r\n\r\n$/);
  });

  it('with only comments is empty', async () => {
    const { answer: reply } = await relayed(native(), [': ping\n\n', ': ping\n\n']);

    expect(reply.status).toBe(502);
  });
});

describe('an event of 33 MiB', () => {
  const mebibyte = Buffer.alloc(1024 * 1024, 'a');
  const large = function* (start: string): Generator<Uint8Array | string> {
    yield start;
    for (let count = 0; count < 40; count += 1) yield mebibyte;
  };

  it('is refused while it arrives, and the upstream is aborted', async () => {
    for (const request of [chat(), native(), native('json_array')]) {
      const scripted = {
        ...sse(),
        chunks: large(request.search === '' ? '[{"a":"' : 'data: {"a":"'),
      };
      const upstream = scriptedUpstream(scripted);

      const reply = await anyModelGateway({ upstream }).call(request);

      expect(reply.status).toBe(502);
      expect(upstream.aborted).toBe(1);
    }
  });

  it('breaks off a stream that had begun', async () => {
    const begun = `data: ${first}\n\n`;
    const upstream = scriptedUpstream({ ...sse(), chunks: large(`${begun}data: {"a":"`) });

    const reply = await anyModelGateway({ upstream }).call(chat());

    expect(brokenStream('chat', reply)?.before).toBe(begun);
    expect(upstream.aborted).toBe(1);
  });

  it('passes if it is smaller', async () => {
    const text = `data: {"choices":[{"delta":{"content":"${'a'.repeat(31 * 1024 * 1024)}"}}]}\n\n`;
    const upstream = scriptedUpstream(sse(text.slice(0, 9), text.slice(9), 'data: [DONE]\n\n'));

    const reply = await anyModelGateway({ upstream }).call(chat());

    expect(reply.text === `${text}data: [DONE]\n\n`).toBe(true);
  });
});

function cutsOf(text: string): readonly (readonly (Uint8Array | string)[])[] {
  const bytes = Buffer.from(text);
  return [[bytes], bytewise(bytes), pieces(bytes, 7), pieces(bytes, 8)];
}

async function relayed(request: CallerRequest, chunks: readonly (Uint8Array | string)[]) {
  const upstream = scriptedUpstream(sse(...chunks));
  const gateway = anyModelGateway({ upstream });
  const reply = await gateway.call(request);
  return { answer: reply, record: gateway.records[0], aborted: upstream.aborted };
}
