/**
 * Sends each body through its own gateway and prints how long it blocked the event loop. It is a
 * script that `blocking.check.ts` runs as compiled code, because the test runner turns each
 * imported name into a call, which makes loops over bytes twenty times as slow.
 */
import { once } from 'node:events';
import { availableParallelism, cpus } from 'node:os';
import { performance } from 'node:perf_hooks';
import { Writable } from 'node:stream';
import {
  type AnyModelGateway,
  type AnyModelSetup,
  anyModelGateway,
  type CallerRequest,
  chat,
  native,
} from '../support/any-model-gateway.ts';
import { requestOf } from '../support/gateway-in-process.ts';
import { scriptedUpstream } from '../support/scripted-upstream.ts';
import { searchedBodies, type WorstBody, worstBodies } from './bodies.ts';
import { type WorstReply, worstReplies } from './replies.ts';

/** The goal. Nothing fails if it is missed, because the result depends on the machine. */
const goalMs = 200;
/** Selects bodies by a part of their names: `BODIES=extra_body npm run blocking`. */
const chosen = process.env.BODIES ?? '';

interface Measured {
  readonly name: string;
  readonly megabytes: string;
  readonly status: number;
  readonly longestMs: number;
}

/** Measures one reply of an upstream, which arrives in one turn. */
async function measuredReply(reply: WorstReply): Promise<Measured> {
  const { name, dialect, request, contentType, capabilities = {} } = reply;
  const body = reply.body();
  const upstream = scriptedUpstream({ headers: { 'content-type': contentType }, chunks: [body] });
  const { status, longestMs } = await longestTurn(
    { upstream, channel: { dialect, capabilities } },
    request,
  );
  return { name, megabytes: (body.length / 1e6).toFixed(1), status, longestMs };
}

/** Measures one body of a request. */
async function measured({ name, dialect, protocol, body }: WorstBody): Promise<Measured> {
  const upstream = scriptedUpstream({ status: 400, chunks: ['{}'] });
  const bytes = Buffer.from(body);
  const request = protocol === 'chat' ? chat(bytes) : native('json', bytes);
  const { status, longestMs } = await longestTurn({ upstream, channel: { dialect } }, request);
  return { name, megabytes: (bytes.length / 1e6).toFixed(1), status, longestMs };
}

/**
 * The longest time between two turns of the event loop while the gateway handles the call, by the
 * clock or by processor time, whichever is less: on a busy machine a turn also waits for other
 * processes.
 */
async function longestTurn(
  { upstream, channel }: Pick<AnyModelSetup, 'upstream' | 'channel'>,
  request: CallerRequest,
): Promise<Pick<Measured, 'status' | 'longestMs'>> {
  const gateway = anyModelGateway({
    ...(upstream === undefined ? {} : { upstream }),
    channel: { ...channel, upstreamModel: 'm' },
    model: { price: { per: 'token', rates: { input: 0n, output: 0n } } },
  });
  // The garbage of making the body is none of the gateway's.
  globalThis.gc?.();
  let longestMs = 0;
  let last = performance.now();
  let lastCpu = process.cpuUsage();
  const look = (): void => {
    const now = performance.now();
    const { user, system } = process.cpuUsage(lastCpu);
    longestMs = Math.max(longestMs, Math.min(now - last, (user + system) / 1_000));
    lastCpu = process.cpuUsage();
    last = now;
  };
  const turn = (): void => {
    look();
    next = setImmediate(turn);
  };
  let next = setImmediate(turn);
  const status = await statusOf(gateway, request);
  look();
  clearImmediate(next);
  return { status, longestMs };
}

/** Sends a call and discards its reply: to collect a large one takes time too. */
async function statusOf({ gateway }: AnyModelGateway, request: CallerRequest): Promise<number> {
  const { status, body } = await gateway.handle(requestOf(request, []));
  if (!('sendTo' in body)) return status;
  const caller = new Writable({ write: (_chunk, _encoding, done) => done() });
  body.sendTo(caller);
  await once(caller, 'close');
  return status;
}

/**
 * The better of two runs: the first includes compiling the code, and either may include a garbage
 * collection.
 */
async function betterOf(measure: () => Promise<Measured>): Promise<Measured> {
  const first = await measure();
  const second = await measure();
  return first.longestMs < second.longestMs ? first : second;
}

function line({ name, megabytes, status, longestMs }: Measured): string {
  const mark = longestMs > goalMs ? '!' : ' ';
  const figures = `${longestMs.toFixed(0).padStart(6)} ms ${mark} ${status}`;
  return `${figures} ${megabytes.padStart(5)} MB  ${name}\n`;
}

function print(text: string): void {
  process.stdout.write(text);
}

const machine = `${cpus()[0]?.model ?? '?'}, ${availableParallelism()} cores, ${process.version}`;
print(`\nLongest sections, goal ${goalMs} ms (${machine})\n`);
const known = worstBodies.filter(({ name }) => name.includes(chosen));
for (const body of known) print(line(await betterOf(() => measured(body))));

const found: Measured[] = [];
for (const body of searchedBodies()) {
  if (body.name.includes(chosen)) found.push(await measured(body));
}
const worst = found.toSorted((one, other) => other.longestMs - one.longestMs).slice(0, 15);
print(`\nThe worst of ${found.length} that the search made\n${worst.map(line).join('')}\n`);

print('Replies of upstreams\n');
let replies = 0;
for (const reply of worstReplies()) {
  if (!reply.name.includes(chosen)) continue;
  print(line(await betterOf(() => measuredReply(reply))));
  replies += 1;
}
print(`\n${known.length + found.length + replies} bodies were measured\n`);
