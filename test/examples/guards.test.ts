// suite: slow
/** The example's guards refuse calls, label them and keep prompts, as they say. */
import { expect, it } from 'vitest';
import { allOf, audit, labelsFrom, moderation, onlySmallModels } from '../../examples/guards.ts';
import { gatewayInProcess } from '../support/gateway-in-process.ts';
import { chat, completeReply } from '../support/models.ts';

it('examples/guards moderate and label calls and keep prompts of users who agreed', async () => {
  const kept: unknown[] = [];
  const { call, records, nextRecord } = gatewayInProcess({
    handlers: [completeReply('chat'), completeReply('chat')],
    options: {
      guard: allOf(
        onlySmallModels,
        moderation(async (text) => text.includes('forbidden')),
        labelsFrom(['search', 'chat']),
        audit(
          (id) => id === 'caller',
          async (id, body) => {
            kept.push([id, body]);
          },
        ),
      ),
    },
  });
  const asks = (content: string, feature: string) =>
    call(chat({ messages: [{ role: 'user', content }], metadata: { feature } }));

  const replies = [
    await asks('something forbidden', 'search'),
    await asks('hello', 'search'),
    await asks('hello', 'made up'),
  ];
  await nextRecord();

  expect(replies.map(({ status }) => status)).toEqual([400, 200, 200]);
  expect(replies[0]?.text).toContain('This request is against our terms of use. Rephrase it.');
  expect(records.map(({ metadata }) => metadata)).toEqual([{ feature: 'search' }, {}]);
  expect(kept).toHaveLength(2);
});

it('examples/guards keep trial accounts to one model', async () => {
  const { call } = gatewayInProcess({
    key: { group: 'trial' },
    models: [
      {
        id: 'chat',
        groups: ['trial'],
        price: { per: 'free' },
        channels: [
          { id: 'a', dialect: 'openai', baseUrl: 'https://a.example/v1', credential: 'secret' },
        ],
      },
    ],
    options: { guard: onlySmallModels },
  });

  const { status, text } = await call(chat());

  expect([status, JSON.parse(text).error.code]).toEqual([400, 'refused_by_policy']);
});
