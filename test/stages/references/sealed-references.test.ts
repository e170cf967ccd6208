// suite: quick
/** Encrypted content goes to the account that made it, and is taken out for others. */
import { describe, expect, it } from 'vitest';
import type { CallHandler } from '../../support/driven-upstream.ts';
import {
  errorIn,
  regional,
  replyFromUs,
  responsesGateway,
  sealed,
  sealedItem,
} from './responses-gateway.ts';

describe('encrypted content', () => {
  it.each([{}, { store: false }])('prefers the account that made it: %j', async (members) => {
    const gateway = responsesGateway();
    await replyFromUs(gateway, members);

    await gateway.ask(sealed('rs_1'));

    expect(gateway.hosts()).toEqual(['us', 'us']);
    expect(gateway.sent()[1]).toContain('gAAAAsealed');
  });

  it('is taken out for another account, and listed', async () => {
    const gateway = responsesGateway();
    await replyFromUs(gateway);
    gateway.gateway.disableChannel('us');

    const body =
      '{"model":"m","input":[ {"role":"user","content":"1.0"} ,\n' +
      '{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"gAAAAsealed"}, ' +
      '{"n":12345678901234567890,"role":"user","content":"go"}\t], "temperature": 1.0}';
    const reply = await gateway.ask(body);

    expect(reply.status).toBe(200);
    expect(reply.headers['x-tollgate-dropped']).toBe('input[1]');
    expect(gateway.hosts()).toEqual(['us', 'eu']);
    expect(gateway.sent()[1]).toBe(
      '{"model":"m","input":[ {"role":"user","content":"1.0"} , ' +
        '{"n":12345678901234567890,"role":"user","content":"go"}\t], "temperature": 1.0}',
    );
  });

  it('is refused for another account by a strict model', async () => {
    const gateway = responsesGateway({ model: { strict: true } });
    await replyFromUs(gateway);
    gateway.replaceChannels([regional('eu')]);

    const reply = await gateway.ask(sealed('rs_1'));

    expect(reply.status).toBe(400);
    expect(errorIn(reply)).toMatchObject({ param: 'input[0]' });
  });

  it('of a compaction is refused by another account', async () => {
    const gateway = responsesGateway();
    await replyFromUs(gateway);
    gateway.replaceChannels([regional('eu')]);

    const reply = await gateway.ask({ input: [{ ...sealedItem, type: 'compaction', id: 'rs_1' }] });

    expect([reply.status, errorIn(reply).param]).toEqual([400, 'input[0]']);
    expect(gateway.sent()).toHaveLength(1);
  });

  it.each([
    { code: 'invalid_encrypted_content', message: 'No.' },
    { code: null, message: 'The encrypted content gAAA could not be verified.' },
  ])('that can’t be read is taken out, and the call sent again: %j', async (error) => {
    const upstream = refusingSealed(error);
    const gateway = responsesGateway({ upstream });

    const reply = await gateway.ask(sealed());

    expect(reply.status).toBe(200);
    expect(reply.headers['x-tollgate-dropped']).toBe('input[0]');
    expect(gateway.sent().map((body) => body.includes('gAAAA'))).toEqual([true, false]);
  });

  it('that the only account can’t read is taken out for the same account', async () => {
    const error = { code: 'invalid_encrypted_content', message: 'No.' };
    const gateway = responsesGateway({ upstream: refusingSealed(error) });
    gateway.replaceChannels([regional('eu')]);

    const reply = await gateway.ask(sealed());

    expect(reply.status).toBe(200);
    expect(gateway.hosts()).toEqual(['eu', 'eu']);
  });

  it('that can’t be left out is refused by the upstream, once', async () => {
    const gateway = responsesGateway({
      upstream: refusingSealed({ code: 'invalid_encrypted_content', message: 'No.' }),
    });

    const reply = await gateway.ask({ input: [{ ...sealedItem, type: 'compaction' }] });

    expect(reply.status).toBe(400);
    expect(gateway.sent()).toHaveLength(1);
  });

  it('of a translated reply is for no provider', async () => {
    const gateway = responsesGateway();
    const envelope = Buffer.from('gw2:{"p":"gemini","k":"text","d":"x"}').toString('base64url');

    const reply = await gateway.ask({
      input: [
        { ...sealedItem, id: 'rs_tg_1', encrypted_content: envelope },
        { type: 'reasoning', id: 'rs_tg_2', summary: [] },
        { role: 'user', content: 'go' },
      ],
    });

    expect(reply.status).toBe(200);
    expect(reply.headers['x-tollgate-dropped']).toBe('input[0],input[1]');
    expect(JSON.parse(gateway.sent()[0] ?? '').input).toEqual([{ role: 'user', content: 'go' }]);
  });
});

function refusingSealed(error: object): CallHandler {
  return (call) => {
    const body = Buffer.concat(call.request.body).toString();
    if (!body.includes('gAAAA')) return call.answer(200, { ...emptyReply });
    call.answer(400, { error: { type: 'invalid_request_error', param: null, ...error } });
  };
}

const emptyReply = {
  id: 'resp_1',
  object: 'response',
  status: 'completed',
  output: [],
  usage: null,
};
