/**
 * A hand-written relay: `express.json()`, `fetch`, and the JSON or the stream of its response.
 */
import { createServer } from 'node:http';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import express from 'express';
import { measured, options, upstreamOrigin } from './measured.mjs';

const app = express();
app.use(express.json({ limit: '64mb' }));
app.post('/v1/chat/completions', async (req, res) => {
  const answer = await fetch(`${upstreamOrigin}${options.prefix}/v1/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: 'Bearer none' },
    body: JSON.stringify({ ...req.body, model: 'gpt-4o' }),
  });
  if (req.body.stream !== true) {
    res.status(answer.status).json(await answer.json());
    return;
  }
  res.status(answer.status).type('text/event-stream');
  await pipeline(Readable.fromWeb(answer.body), res);
});
await measured({ server: createServer(app) });
