/** How a host tests its own app in-process: no port, no account, all stages of the gateway. */
import { strict as assert } from 'node:assert';
import request from 'supertest';
import { startFakeUpstream } from 'tollgate/testing';
import { createApp } from './express-app.ts';
import { exampleGateway } from './gateway.ts';

/** Checks that a chat call through the host's app is answered and reaches the upstream. */
export async function answersAChatCall(): Promise<void> {
  const upstream = await startFakeUpstream();
  const { gateway, issued } = exampleGateway(upstream);

  const answer = await request(createApp(gateway))
    .post('/v1/chat/completions')
    .set('authorization', `Bearer ${issued.secret}`)
    .send({ model: 'gpt-4o-mini', messages: [{ role: 'user', content: 'Say hello.' }] });

  assert.equal(answer.status, 200);
  assert.match(answer.body.choices[0].message.content, /./);
  assert.equal(upstream.calls.length, 1);
  assert.notEqual(upstream.calls[0]?.headers.authorization, `Bearer ${issued.secret}`);
  await gateway.close();
  await upstream.close();
}
