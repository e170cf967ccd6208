/** http-proxy-middleware on Express 5, with a keep-alive agent. */
import { Agent, createServer } from 'node:http';
import express from 'express';
import { createProxyMiddleware } from 'http-proxy-middleware';
import { measured, options, upstreamOrigin } from './measured.mjs';

const app = express();
app.use(
  createProxyMiddleware({
    target: upstreamOrigin + options.prefix,
    changeOrigin: true,
    agent: new Agent({ keepAlive: true }),
  }),
);
await measured({ server: createServer(app) });
