// suite: quick
/** Keys of AWS from the function of a channel that is not on AWS: nobody gets them. */
import { expect, it } from 'vitest';
import { azure, vertex } from '../../../../src/index.ts';
import { dialectNames } from '../../../../src/ports/models/capabilities.ts';
import type { Channel } from '../../../../src/ports/models/catalog.ts';
import { gatewayInProcess } from '../../../support/gateway-in-process.ts';
import { channel, completeReply, model, sampleRequests } from '../../../support/models.ts';

const secretAccessKey = 'wJalrXUtnFEMIK7MDENGbPxRfiCYEXAMPLEKEY';
const keys = { accessKeyId: 'AKIAIOSFODNN7EXAMPLE', secretAccessKey };

const places: readonly Partial<Channel>[] = [
  ...dialectNames.map((dialect) => ({ dialect })),
  azure({ kind: 'v1', resource: 'contoso' }),
  azure({ kind: 'deployments', resource: 'contoso', apiVersion: '2024-10-21' }),
  azure({ kind: 'anthropic', resource: 'contoso' }),
  vertex({ kind: 'google', project: 'p', location: 'us-east5' }),
  vertex({ kind: 'anthropic', project: 'p', location: 'us-east5' }),
  vertex({ kind: 'openapi', project: 'p', location: 'us-east5' }),
];

it.each(places)('%j', async (place) => {
  const { call, upstream, events } = gatewayInProcess({
    models: [model({ channels: [channel({ ...place, credential: () => keys })] })],
    handlers: [completeReply('chat')],
  });

  const { status, text } = await call(sampleRequests.chat);

  expect(status).toBe(502);
  expect(upstream.calls).toEqual([]);
  expect(events).toContainEqual(
    expect.objectContaining({ type: 'attempt_ended', reason: 'credential_unavailable' }),
  );
  expect(JSON.stringify([events, text])).not.toContain(secretAccessKey);
});
