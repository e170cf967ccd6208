// suite: quick
/** What translations need is loaded by the first call that is translated, or before. */
import { describe, expect, it } from 'vitest';
import { dialects } from '../../../src/dialects/table.ts';
import { protocols } from '../../../src/protocols/table.ts';
import { clientCodecs } from '../../support/codecs.ts';
import type { CallHandler } from '../../support/driven-upstream.ts';
import { gatewayInProcess } from '../../support/gateway-in-process.ts';
import { channel, chat, model } from '../../support/models.ts';

/** A gateway whose model has one Gemini channel, and whose codecs load as `load` does. */
function lazily(load: () => void) {
  let loads = 0;
  const gateway = gatewayInProcess({
    handlers: [answer, answer, answer],
    models: [model({ channels: [channel({ dialect: 'gemini' })] })],
    tables: {
      protocols,
      dialects: {
        ...dialects,
        gemini: {
          ...dialects.gemini,
          codecs: async () => {
            loads += 1;
            load();
            return clientCodecs.gemini;
          },
        },
      },
    },
  });
  return { ...gateway, loads: () => loads };
}

const answer: CallHandler = (up) =>
  up.answer(200, {
    candidates: [{ content: { parts: [{ text: 'Hi' }] }, finishReason: 'STOP' }],
    usageMetadata: { promptTokenCount: 3, candidatesTokenCount: 1, totalTokenCount: 4 },
  });

function missing(): never {
  throw new Error('Cannot find module');
}

describe('the codecs of a translation', () => {
  it('are loaded once, by the first call', async () => {
    const { call, loads } = lazily(() => {});

    expect(loads()).toBe(0);
    for (let nth = 0; nth < 3; nth += 1) await call(chat());
    expect(loads()).toBe(1);
  });

  it('are loaded before the first call if the host waits for them', async () => {
    const { gateway, call, loads } = lazily(() => {});

    await gateway.ready();
    const before = loads();
    await call(chat());

    expect(before).toBeGreaterThan(0);
    expect(loads()).toBe(before);
  });

  it('are tried again by the next call if they could not be loaded', async () => {
    let isThere = false;
    const { call, eventTypes } = lazily(() => {
      if (!isThere) missing();
    });

    const refused = await call(chat());
    isThere = true;
    const answered = await call(chat());

    expect(refused.status).toBe(503);
    expect(eventTypes()).toContain('internal_error');
    expect(answered.status).toBe(200);
  });

  it('reject `ready` with what a module threw', async () => {
    await expect(lazily(missing).gateway.ready()).rejects.toThrow('Cannot find module');
  });
});
