/** Runs the binary of Codex CLI once, with a provider that is configured as a user would. */
import { spawn } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { type JsonValue, member, parseJson } from '../../../src/json.ts';

/** What a run did. */
export interface CodexRun {
  readonly exitCode: number | null;
  /** Its events, one JSON value each. */
  readonly events: readonly JsonValue[];
  /** What it wrote last for the user. */
  readonly lastMessage: string;
  /** A file that it made in its working folder, or undefined. */
  readonly file: string | undefined;
}

/** How to run it. */
export interface CodexOptions {
  /** With `/v1`. */
  readonly baseUrl: string;
  readonly key: string;
  readonly model: string;
  /** The file to read afterwards. */
  readonly fileName?: string;
}

/** The folder in which `@openai/codex` is installed. */
const packageFolder = process.env.CODEX_PACKAGE ?? '';

/** Runs `codex exec` in empty folders, without a network but the gateway's. */
export async function runCodex(options: CodexOptions): Promise<CodexRun> {
  const folder = await mkdtemp(join(tmpdir(), 'codex-'));
  const workFolder = await mkdtemp(join(tmpdir(), 'codex-work-'));
  try {
    await writeFile(join(folder, 'config.toml'), config(options));
    const { exitCode, output } = await run(folder, workFolder, options.key);
    return {
      exitCode,
      events: output.split('\n').flatMap((line) => parseJson(line) ?? []),
      lastMessage: await readFile(join(folder, 'last-message'), 'utf8').catch(() => ''),
      file:
        options.fileName === undefined
          ? undefined
          : await readFile(join(workFolder, options.fileName), 'utf8').catch(() => undefined),
    };
  } finally {
    await rm(folder, { recursive: true, force: true });
    await rm(workFolder, { recursive: true, force: true });
  }
}

function config({ baseUrl, model }: CodexOptions): string {
  return `model = "${model}"
model_provider = "tollgate"
check_for_update_on_startup = false

[analytics]
enabled = false

[model_providers.tollgate]
name = "Tollgate"
base_url = "${baseUrl}"
env_key = "TOLLGATE_KEY"
wire_api = "responses"
request_max_retries = 0
stream_max_retries = 0
`;
}

async function run(
  folder: string,
  workFolder: string,
  key: string,
): Promise<{ readonly exitCode: number | null; readonly output: string }> {
  const child = spawn(
    binary(),
    [
      ...['exec', '--json', '--skip-git-repo-check', '--dangerously-bypass-approvals-and-sandbox'],
      ...['-C', workFolder, '-o', join(folder, 'last-message'), 'Say hello.'],
    ],
    {
      env: {
        PATH: process.env.PATH,
        HOME: folder,
        CODEX_HOME: folder,
        TOLLGATE_KEY: key,
        // A proxy that nobody runs: only the gateway can be reached.
        HTTPS_PROXY: 'http://127.0.0.1:9',
        HTTP_PROXY: 'http://127.0.0.1:9',
        NO_PROXY: '127.0.0.1',
      },
      stdio: ['ignore', 'pipe', 'ignore'],
    },
  );
  const exited = new Promise<number | null>((resolve, reject) => {
    child.once('error', reject);
    child.once('exit', resolve);
  });
  const output = await text(child.stdout);
  return { exitCode: await exited, output };
}

/** The binary itself: the script around it keeps running when it is ended. */
function binary(): string {
  const load = createRequire(join(packageFolder, 'package.json'));
  const { platform, arch } = process;
  const manifest = load.resolve(`@openai/codex-${platform}-${arch}/package.json`);
  const triples: Readonly<Record<string, string>> = {
    'linux-x64': 'x86_64-unknown-linux-musl',
    'linux-arm64': 'aarch64-unknown-linux-musl',
    'darwin-x64': 'x86_64-apple-darwin',
    'darwin-arm64': 'aarch64-apple-darwin',
  };
  return join(manifest, '../vendor', triples[`${platform}-${arch}`] ?? '', 'bin/codex');
}

/** The items of a run that are finished, by type. */
export function finishedItems({ events }: CodexRun, type: string): readonly JsonValue[] {
  return events
    .filter((event) => member(event, 'type') === 'item.completed')
    .map((event) => member(event, 'item') ?? null)
    .filter((item) => member(item, 'type') === type);
}
