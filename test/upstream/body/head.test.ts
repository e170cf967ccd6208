// suite: quick runtime
/** Reading the beginning of a body, and forwarding the rest. */
import { describe, expect, it } from 'vitest';
import type { ByteSink, UpstreamBody } from '../../../src/ports/upstream-client.ts';
import { type DetachableBody, readHead } from '../../../src/upstream/body/head.ts';
import { OpenedBody } from '../../../src/upstream/body/opened.ts';
import { type ScriptedReply, scriptedBody } from '../../support/scripted-upstream.ts';

describe('readHead', () => {
  it('stops at the chunk that is enough, and passes on the rest in order', async () => {
    const body = opened(scriptedBody({ chunks: ['a', 'b', 'c', 'd'] }));
    const head = await readHead(body, is('b'));

    expect(texts([head.bytes])).toEqual(['ab']);
    expect(head.ended).toBe(false);
    expect(await restOf(body)).toEqual(['c', 'd', 'end']);
  });

  it('ends with the body if no chunk is enough', async () => {
    const body = opened(scriptedBody({ chunks: ['a', 'b'] }));
    const head = await readHead(body, () => false);

    expect(texts([head.bytes])).toEqual(['ab']);
    expect(head.ended).toBe(true);
    expect(await restOf(body)).toEqual(['end']);
  });

  it('of an empty body is empty', async () => {
    const head = await readHead(opened(scriptedBody({})), () => false);

    expect(head.bytes).toHaveLength(0);
    expect(head.ended).toBe(true);
  });

  it('rejects if the body fails before that', async () => {
    const broken: ScriptedReply = { chunks: ['a'], ending: 'reset' };

    await expect(readHead(opened(scriptedBody(broken)), () => false)).rejects.toMatchObject({
      name: 'UpstreamError',
      reason: 'reset',
    });
  });

  it('passes on a later failure of the body', async () => {
    const body = opened(scriptedBody({ chunks: ['a', 'b'], ending: 'reset' }));
    await readHead(body, is('a'));

    expect(await restOf(body)).toEqual(['b', 'upstream body: reset']);
  });

  it('aborts the body if the check throws', async () => {
    let aborted = false;
    const body = scriptedBody({ chunks: ['a', 'b'] }, () => {
      aborted = true;
    });
    const judge = () => {
      throw new Error('too large');
    };

    await expect(readHead(opened(body), judge)).rejects.toThrow('too large');
    expect(aborted).toBe(true);
  });

  it('loses nothing of a body that does not pause immediately', async () => {
    let sink: ByteSink | undefined;
    const heedless: UpstreamBody = {
      takeWhole: () => undefined,
      start: (target) => {
        sink = target;
      },
      pause: () => {},
      resume: () => {},
      abort: () => {},
    };
    const body = opened(heedless);
    const reading = readHead(body, is('a'));
    for (const chunk of ['a', 'b', 'c']) sink?.write(Buffer.from(chunk));
    sink?.end();

    await reading;
    expect(await restOf(body)).toEqual(['bc', 'end']);
  });

  it('works with a body that is an instance of a class', async () => {
    class Body implements UpstreamBody {
      readonly inner: UpstreamBody = scriptedBody({ chunks: ['a', 'b'] });
      takeWhole(limit: number): Uint8Array | undefined {
        return this.inner.takeWhole(limit);
      }
      start(sink: ByteSink): void {
        this.inner.start(sink);
      }
      pause(): void {
        this.inner.pause();
      }
      resume(): void {
        this.inner.resume();
      }
      abort(): void {
        this.inner.abort();
      }
    }

    const body = opened(new Body());
    await readHead(body, is('a'));

    expect(await restOf(body)).toEqual(['b', 'end']);
    expect(() => body.abort()).not.toThrow();
  });
});

function is(text: string): (chunk: Uint8Array) => boolean {
  return (chunk) => Buffer.from(chunk).toString() === text;
}

function texts(chunks: readonly Uint8Array[]): readonly string[] {
  return chunks.map((chunk) => Buffer.from(chunk).toString());
}

function opened(body: UpstreamBody): DetachableBody {
  return new OpenedBody(body, undefined);
}

function restOf(body: DetachableBody): Promise<readonly string[]> {
  return new Promise((resolve) => {
    const got: string[] = [];
    body.start({
      write: (chunk) => got.push(...texts([chunk])),
      end: () => resolve([...got, 'end']),
      fail: (error) => resolve([...got, error.message]),
    });
  });
}
