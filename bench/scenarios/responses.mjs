/** The Responses and Messages APIs beside chat: whole replies, and streams in a burst and at a model's pace. */
import { chatCall, messagesCall, responsesCall } from '../lib/calls.mjs';
import { compare, rowsOf } from '../lib/compare.mjs';
import { tollgate } from '../lib/contenders.mjs';

const named = async (name, entry) => ({ ...(await entry), name });
const target = { of: 'ratio', max: 1.1 };
const targets = { responses: target, messages: target };

export const scenario = {
  name: 'responses',
  title: 'Relayed Responses and Messages, compared with relayed chat',

  async run(context) {
    const whole = await compare(context, await started(context, {}), {
      shape: { connections: 32, durationMs: 700 },
    });
    const streamed = await started(context, { stream: true });
    const burst = await streams(context, streamed, '/200-0', {
      ...{ connections: 32, durationMs: 700, events: 200 },
    });
    const paced = await streams(context, streamed, '/100-20', {
      ...{ connections: 200, requests: 200, events: 100 },
    });
    return [
      ...rows(whole, 'CPU per request'),
      ...rows(burst, 'CPU per event, 200 events in a burst, with their call'),
      ...rows(paced, 'CPU per event, 200 streams, one event per 20 ms'),
    ];
  },
};

function started(context, { stream = false }) {
  const prefix = stream ? { prefix: '/stream' } : {};
  return Promise.all([
    named('chat', tollgate(context, chatCall({ stream }), prefix)),
    named('responses', tollgate(context, responsesCall({ stream }), prefix)),
    named(
      'messages',
      tollgate(context, messagesCall({ stream }), { ...prefix, dialect: 'anthropic' }),
    ),
  ]);
}

function streams(context, entries, as, shape) {
  return compare(context, entries, {
    shape,
    warming: { connections: 32, events: 20 },
    streams: { warmUp: '/20-0', measured: as },
  });
}

function rows(values, label) {
  return rowsOf(values, {
    ...{ figure: 'cpuMicros', label, unit: 'µs', baseline: 'chat' },
    targets,
  });
}
