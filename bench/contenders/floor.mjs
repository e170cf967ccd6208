/**
 * The floor: the smallest gateway that charges for chats, without a thought for errors. A key by
 * its digest, `JSON.parse`, the group, a hold on the key and its group, the relay, the charge from
 * the reply's usage, and a ring of records.
 */
import { hash } from 'node:crypto';
import { createServer } from 'node:http';
import { keySecrets, modelId } from '../lib/calls.mjs';
import { measured, options } from './measured.mjs';
import { relay } from './relaying.mjs';

const inputNanos = 100;
const outputNanos = 200;
const tokensPerByte = 0.4;
const mostOutputTokens = 4_096;

const digestOf = (secret) => hash('sha256', secret, 'base64');
const account = () => ({ held: 0, used: 0, limit: 9e15 });
const groupAccount = account();
const keys = new Map(
  keySecrets(options).map((secret, n) => [
    digestOf(secret),
    { id: `bench-${n}`, group: 'bench', accounts: [account(), groupAccount] },
  ]),
);
const models = new Map([[modelId, { groups: new Set(['bench']) }]]);
const records = new Array(1_000);
let recorded = 0;

function serve(req, res, body) {
  const key = keys.get(digestOf(req.headers.authorization.slice('Bearer '.length)));
  if (key === undefined) return refuse(res, 401);
  const request = JSON.parse(body);
  const model = models.get(request.model);
  if (model?.groups.has(key.group) !== true || !Array.isArray(request.messages)) {
    return refuse(res, 404);
  }
  const outputTokens = request.max_tokens ?? mostOutputTokens;
  const held = body.length * tokensPerByte * inputNanos + outputTokens * outputNanos;
  for (const { used, held: others, limit } of key.accounts) {
    if (used + others + held > limit) return refuse(res, 403);
  }
  for (const one of key.accounts) one.held += held;
  const beganAt = performance.now();
  relay(req.url, body, res, (tail) => settle({ key, request, held, beganAt }, usageIn(tail)));
}

function settle({ key, request, held, beganAt }, usage) {
  const nanos = usage.prompt_tokens * inputNanos + usage.completion_tokens * outputNanos;
  for (const one of key.accounts) {
    one.held -= held;
    one.used += nanos;
  }
  const ms = performance.now() - beganAt;
  records[recorded % records.length] = { key: key.id, model: request.model, usage, nanos, ms };
  recorded += 1;
}

function usageIn(tail) {
  const at = tail.lastIndexOf('"usage":');
  const begin = tail.indexOf('{', at);
  return JSON.parse(tail.latin1Slice(begin, tail.indexOf('}', begin) + 1));
}

function refuse(res, status) {
  res.writeHead(status).end();
}

const server = createServer((req, res) => {
  const pieces = [];
  req.on('data', (piece) => pieces.push(piece));
  req.on('end', () => serve(req, res, Buffer.concat(pieces)));
});
await measured({ server });
