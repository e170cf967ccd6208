/** The baseline, a bare relay: `node:http` and undici, and nothing else. */
import { createServer } from 'node:http';
import { measured } from './measured.mjs';
import { relay } from './relaying.mjs';

const server = createServer((req, res) => {
  const pieces = [];
  req.on('data', (piece) => pieces.push(piece));
  req.on('end', () => relay(req.url, Buffer.concat(pieces), res));
});
await measured({ server });
