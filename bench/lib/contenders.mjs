/**
 * The contenders by name. Each function starts one and returns how calls to it differ: in headers,
 * or, for `direct`, in the path.
 */
import { isOnPath } from './machine.mjs';

/** An entry of `compare`: the started contender with the call to make. */
function starter(name, module, { options = {}, adapt = (call) => call } = {}) {
  return async (context, call, { prefix = '', ...more } = {}) => ({
    name,
    contender: await context.start(module, { prefix, ...options, ...more }),
    shape: { call: adapt(call, context, prefix) },
  });
}

export const bareRelay = starter('bare relay', 'bare-relay');

export const freshRelay = starter('bare relay, fresh connections', 'bare-relay', {
  options: { freshConnections: true },
});

/** The load generator calls the upstream directly. */
export async function direct(context, call, { prefix = '' } = {}) {
  return {
    name: 'direct',
    contender: context.direct,
    shape: { call: { ...call, path: prefix + call.path } },
  };
}

export const tollgate = starter('tollgate on node:http', 'tollgate', { options: { host: 'node' } });

export const tollgates = [
  tollgate,
  starter('tollgate on Koa 3', 'tollgate', { options: { host: 'koa' } }),
  starter('tollgate on Express 4', 'tollgate', { options: { host: 'express4' } }),
  starter('tollgate on Express 5', 'tollgate', { options: { host: 'express5' } }),
  starter('tollgate on Express 4, server of its own classes', 'tollgate', {
    options: { host: 'express4, own classes' },
  }),
  starter('tollgate on Express 5, server of its own classes', 'tollgate', {
    options: { host: 'express5, own classes' },
  }),
];

const portkey = starter('Portkey', 'portkey', {
  adapt: (call, { upstreamPort }, prefix) => ({
    ...call,
    headers: {
      ...call.headers,
      'x-portkey-provider': 'openai',
      'x-portkey-custom-host': `http://127.0.0.1:${upstreamPort}${prefix}/v1`,
    },
  }),
});

/** Other gateways and proxies, and a hand-written relay; nginx if it is installed. */
export function peers() {
  return [
    ...(isOnPath('nginx') ? [starter('nginx', 'nginx')] : []),
    starter('http-proxy-middleware on Express 5', 'http-proxy-middleware'),
    starter('@fastify/http-proxy', 'fastify-http-proxy'),
    starter('Express 5 + fetch by hand', 'express-fetch'),
    portkey,
  ];
}
