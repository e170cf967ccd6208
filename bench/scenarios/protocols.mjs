/** Calls beside a plain chat: a chat with a listener, a native call and an image, each of about 1 KB. */
import { chatCall, imageCall, nativeCall } from '../lib/calls.mjs';
import { compare, row, rowsOf } from '../lib/compare.mjs';
import { bareRelay, freshRelay, tollgate } from '../lib/contenders.mjs';

const image = '/image-900';

/** An entry of a contender under another name, because it is measured with several calls. */
const named = async (name, entry) => ({ ...(await entry), name });

export const scenario = {
  name: 'protocols',
  title: 'Listeners, native and images, 1 KB in and 1 KB out',
  description:
    'Compared with Tollgate’s own chat. An image always opens a new connection to its upstream; ' +
    'the cost of that is measured by a bare relay that opens one for each call.',

  async run(context) {
    const entries = await Promise.all([
      named('chat', tollgate(context, chatCall())),
      named('chat, with a listener of events', tollgate(context, chatCall(), { watched: true })),
      named('native', tollgate(context, nativeCall(), { dialect: 'gemini' })),
      named('image', tollgate(context, imageCall(), { prefix: image })),
      bareRelay(context, imageCall(), { prefix: image }),
      freshRelay(context, imageCall(), { prefix: image }),
    ]);
    const values = await compare(context, entries, {
      shape: { connections: 32, durationMs: 700 },
    });
    const cost = { figure: 'cpuMicros', label: 'CPU per request', unit: 'µs', baseline: 'chat' };
    return [
      ...rowsOf(values, { ...cost, targets: { native: { of: 'ratio', max: 1.1 } } }),
      withoutDialling(values),
    ];
  },
};

function withoutDialling(values) {
  const micros = (name) => values.get(name).cpuMicros;
  const [kept, fresh] = [micros('bare relay'), micros('bare relay, fresh connections')];
  return row({
    contender: 'image less its fresh connection',
    figure: 'CPU per request',
    unit: 'µs',
    values: micros('image').map((value, round) => value - (fresh[round] - kept[round])),
    baseline: micros('chat'),
    target: { of: 'ratio', max: 1.1 },
  });
}
