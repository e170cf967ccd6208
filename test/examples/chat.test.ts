// suite: slow host
/** The script of the example's chat page, over HTTP; `test:console` runs the page in a browser. */
import { readFileSync } from 'node:fs';
import { expect, it, vi } from 'vitest';
import { gate, sse } from '../../src/testing/providers/scripts.ts';
import { chatHost, delta } from './chat-host.ts';

interface ChatScript {
  ask(messages: readonly object[]): AsyncIterable<string>;
}

const folder = new URL('../../examples/chat/page/', import.meta.url);
const { ask }: ChatScript = await import(new URL('chat.js', folder).href);
const question = [{ role: 'user', content: 'Hello!' }];

/** A running host; `fetch` sends what a browser adds to a request of its page. */
async function openedPage({ isSignedIn = true }: { readonly isSignedIn?: boolean } = {}) {
  const { origin, upstream } = await chatHost();
  const { headers } = await fetch(`${origin}/sign-in`, { redirect: 'manual' });
  const cookie = isSignedIn ? (headers.get('set-cookie')?.split(';')[0] ?? '') : '';
  const send = globalThis.fetch;
  vi.stubGlobal('fetch', (path: string, init: RequestInit) => {
    const added = { ...init.headers, cookie, 'sec-fetch-site': 'same-origin' };
    return send(`${origin}${path}`, { ...init, headers: added });
  });
  return upstream;
}

async function read(pieces: AsyncIterable<string>): Promise<string> {
  let text = '';
  for await (const piece of pieces) text += piece;
  return text;
}

it('examples/chat has a page of 60 lines, without a key', () => {
  const texts = ['index.html', 'chat.js'].map((name) =>
    readFileSync(new URL(name, folder), 'utf8'),
  );

  expect(texts.join('').trimEnd().split('\n').length).toBeLessThanOrEqual(60);
  expect(texts.join('')).not.toMatch(/authorization|api-key|Bearer/i);
});

it('examples/chat yields each piece of a reply before the next one exists', async () => {
  const upstream = await openedPage();
  const second = gate();
  upstream.enqueue(sse([delta('Grüße, '), second.opened, delta('Ada'), '[DONE]']));

  const pieces = ask(question)[Symbol.asyncIterator]();
  expect((await pieces.next()).value).toBe('Grüße, ');
  second.open();

  expect(await read({ [Symbol.asyncIterator]: () => pieces })).toBe('Ada');
});

it('examples/chat says why a reply broke off', async () => {
  const upstream = await openedPage();
  upstream.enqueue({ ...sse([delta('Hello')]), ending: 'reset' });

  await expect(read(ask(question))).rejects.toThrow('The upstream failed to answer');
});

it('examples/chat says why a call was refused', async () => {
  await openedPage({ isSignedIn: false });

  await expect(read(ask(question))).rejects.toThrow('nobody is signed in');
});
