/** The entries, loads and figures that several scenarios share. */
import { chatCall } from '../lib/calls.mjs';
import { isOnPath } from '../lib/machine.mjs';

export const contender = (module, options) => ({ module, options });
export const gateway = (options) => contender('tollgate', options);

const relayProcess = contender('relay');
export const chat = chatCall();
export const streamedChat = chatCall({ stream: true });

export const relay = { name: 'relay', on: relayProcess };
export const floor = { name: 'floor', on: contender('floor') };
export const tollgate = { name: 'Tollgate', on: gateway() };
export const noListener = { name: 'Tollgate without a listener', on: gateway({ listeners: [] }) };
export const nginx = isOnPath('nginx') ? [{ name: 'nginx', on: contender('nginx') }] : [];
export const watched = (name, ...listeners) => ({
  name: `Tollgate with ${name}`,
  on: gateway({ listeners: ['log', ...listeners] }),
});
export const both = watched('OpenTelemetry and Prometheus', 'opentelemetry', 'prometheus');

/** These contenders with the same call. */
export const each = (call, entries) => entries.map((entry) => ({ ...entry, call }));

/** A gateway and the relay, with one call. */
export const besideRelay = (name, call, options) => [
  { name: `relay, ${name}`, on: relayProcess, call },
  { name, on: gateway(options), call, baseline: `relay, ${name}` },
];

export const at32 = { connections: 32, durationMs: 400 };
export const burst = { ...at32, events: 200 };
export const paced = (streams) => ({
  connections: streams,
  requests: streams,
  events: 100,
  settleMs: 500,
});
export const inStep = (waveMs) => ({ connections: 8, requests: 160, events: 5, waveMs });
/** Warms up what streams: the code of a call weighs more than that of its events. */
export const shortStreams = { as: '/5-0' };

export const cpuOfCall = (goals) => ({ of: 'callMicros', label: 'CPU a call', unit: 'µs', goals });
export const cpuOfEvent = (goals) => ({
  of: 'eventMicros',
  label: 'CPU an event',
  unit: 'µs',
  goals,
});
export const firstByte = (goals) => ({
  ...{ of: 'firstByteMillis', label: 'first byte, p50', unit: 'ms', above: true, goals },
});
