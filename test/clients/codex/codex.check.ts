/**
 * Codex CLI in `exec` mode, with its own tools: parallel commands, a patch (a custom tool), and a
 * tool of a namespace, over every upstream.
 */
import { createServer } from 'node:http';
import { nodeAdapter } from 'tollgate/node';
import { describe, expect, it, onTestFinished } from 'vitest';
import { member } from '../../../src/json.ts';
import { unmountedGateway, upstreamSecret } from '../../support/mounted-gateway.ts';
import { closed, listening } from '../../support/servers.ts';
import { modelsOf, type Upstream, upstreams } from '../upstreams.ts';
import { type CodexRun, finishedItems, runCodex } from './run.ts';
import { callingTurn, signatureIn, type ToolCall } from './turns.ts';

const parallel: readonly ToolCall[] = [
  { name: 'exec_command', args: { cmd: 'echo first-output' } },
  { name: 'exec_command', args: { cmd: 'echo second-output' } },
];
const patch: readonly ToolCall[] = [
  {
    name: 'apply_patch',
    isCustom: true,
    args: { input: '*** Begin Patch\n*** Add File: hello.txt\n+Hello.\n*** End Patch' },
  },
];
const script: readonly ToolCall[] = [
  { name: 'functions__exec', isCustom: true, args: { input: 'text("first" + "-" + "output")' } },
];
const namespaced: readonly ToolCall[] = [
  { name: 'multi_agent_v1__close_agent', args: { target: 'nobody' } },
];

describe.each(
  upstreams.map((upstream) => [upstream.name, upstream] as const),
)('over %s', (name, upstream) => {
  it('runs parallel commands, and sends back their outputs and the signature', async () => {
    const { run, bodies } = await codexOver(upstream, 'codex', parallel);

    expect(failuresOf(run)).toEqual([]);
    expect(run.lastMessage).toContain('57°F');
    const outputs = finishedItems(run, 'command_execution').map((item) =>
      member(item, 'aggregated_output'),
    );
    expect(outputs.toSorted()).toEqual(['first-output\n', 'second-output\n']);
    expect(bodies).toHaveLength(2);
    expect(bodies[1]).toContain('first-output');
    expect(bodies[1]).toContain('second-output');
    expect(bodies[1]).toContain(signatureIn(name, parallel));
  });
});

describe.each(
  upstreams
    .filter(({ name }) => name !== 'responses')
    .map((upstream) => [upstream.name, upstream] as const),
)('translated to %s', (_name, upstream) => {
  // Codex offers this as a custom tool to the models whose names it knows.
  it('applies a patch', async () => {
    const { run } = await codexOver(upstream, 'gpt-5.5', patch);

    expect(failuresOf(run)).toEqual([]);
    expect(run.file).toBe('Hello.\n');
  });

  // For this model Codex declares its tools in an input item, and this one in a namespace.
  it('runs a script, by a custom tool of a namespace', async () => {
    const { run, bodies } = await codexOver(upstream, 'gpt-6-sol', script);

    expect(failuresOf(run)).toEqual([]);
    expect(bodies[1]).toContain('first-output');
  });

  it('calls a tool of a namespace', async () => {
    const { run, bodies } = await codexOver(upstream, 'codex', namespaced);

    expect(failuresOf(run)).toEqual([]);
    expect(bodies[1]).not.toMatch(/unsupported call/i);
    expect(bodies[1]).toMatch(/agent/);
  });
});

/** Why a run failed; empty for one that did not. */
function failuresOf({ exitCode, events }: CodexRun): readonly unknown[] {
  const failed = events.filter((event) => member(event, 'type') === 'turn.failed');
  return exitCode === 0 ? failed : [`exit code ${exitCode}`, ...failed];
}

/** Runs Codex over an upstream that makes these calls first and then answers by itself. */
async function codexOver(
  { name, models }: Upstream,
  id: string,
  calls: readonly ToolCall[],
): Promise<{ readonly run: CodexRun; readonly bodies: readonly string[] }> {
  const harness = await unmountedGateway({}, (fake) =>
    modelsOf(fake, upstreamSecret)
      .filter((model) => model.id === `${name}/agent-1`)
      .map((model) => ({
        ...model,
        id,
        channels: model.channels.map((channel) => ({
          ...channel,
          upstreamModel: `${models.agent}-1`,
        })),
      })),
  );
  const server = createServer(nodeAdapter(harness.gateway));
  const origin = await listening(server);
  onTestFinished(async () => {
    await closed(server);
    await harness.close();
  });
  harness.upstream.enqueue(callingTurn(name, calls));
  const run = await runCodex({
    baseUrl: `${origin}/v1`,
    key: harness.secrets.chat,
    model: id,
    fileName: 'hello.txt',
  });
  return { run, bodies: harness.upstream.calls.map(({ body }) => body.toString()) };
}
