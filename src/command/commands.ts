/** All commands, in the order of the help, and those that need no configuration file. */
import { createServer, type Server } from 'node:http';
import { join } from 'node:path';
import { nodeAdapter } from '../../adapters/node.ts';
import { linesToPaste } from '../../examples/quickstart/lines.ts';
import { demoModels } from '../../examples/quickstart/models.ts';
import { demoStores } from '../../examples/quickstart/stores.ts';
import { createAdmin } from '../admin/admin.ts';
import { staticCatalog } from '../catalog/static-catalog.ts';
import { createGateway } from '../gateway.ts';
import { audit, consoleLink } from './audit.ts';
import { catalogCommands } from './catalog.ts';
import { channels, processChanges } from './channels.ts';
import { check } from './check/check.ts';
import {
  type Command,
  CommandError,
  endSignal,
  exitCodes,
  type Given,
  usageError,
} from './command.ts';
import { completionOf } from './completion.ts';
import { configJsonSchema } from './config/json-schema.ts';
import { keyCommands } from './keys/keys.ts';
import { notifyTest } from './notify.ts';
import { printJson } from './output.ts';
import { serve } from './serve/serve.ts';
import { migrate } from './stores/migrate.ts';
import { calls, deletion } from './usage/calls.ts';
import { refusals, report } from './usage/report.ts';

/**
 * A gateway with an embedded upstream, and commands to paste. It is the quickstart of the examples
 * on `node:http`, so it shares their keys, models and texts.
 */
const demo: Command = {
  name: 'demo',
  summary: 'run a gateway with a fake upstream, and print commands to paste',
  options: { port: { value: 'PORT', text: 'default: 8787; 0 for any free one' } },
  about: `Starts a gateway on 127.0.0.1 without any set-up: an embedded upstream answers with canned
replies, and the keys are printed with a command for each API. With OPENAI_API_KEY,
GEMINI_API_KEY or ANTHROPIC_API_KEY set it calls the real upstreams. Keys, quota and
usage are kept in ./.data if the package libsql is installed, else in memory.`,
  examples: ['npx tollgate demo', 'npx tollgate demo --port 9000'],
  outlivesOutput: true,
  run: runDemo,
};

async function runDemo({ around, text }: Given): Promise<number> {
  const port = Number(text('port') ?? around.env.PORT ?? 8787);
  if (!(Number.isInteger(port) && port >= 0 && port <= 65_535)) {
    throw usageError('--port must be a number from 0 to 65535.');
  }
  // Loaded only here, because these modules contain recordings and pages.
  const { startFakeUpstream } = await import('../testing/index.ts');
  const { consoleHandler, consoleSignIn } = await import('../console/index.ts');
  const upstream = await startFakeUpstream({ paceMs: 40 });
  const models = demoModels(around.env, upstream);
  const { stores, secrets, place, close } = await demoStores(join(around.cwd, '.data'));
  const catalog = staticCatalog(models.all);
  const gateway = createGateway({
    ...stores,
    catalog,
    ownerRoutes: true,
    defaultImageModel: models.image,
  });
  const { keys, quota, usage } = stores;
  const admin = createAdmin({ gateway, keys, quota, usage, catalog });
  const signIn = consoleSignIn();
  const showConsole = consoleHandler(admin, { path: '/console', signIn });
  const handleCalls = nodeAdapter(gateway);
  const server = createServer((request, response) => {
    void showConsole(request, response, () => void handleCalls(request, response));
  });
  try {
    const base = `http://localhost:${await listening(server, port)}`;
    const signalled = endSignal(around);
    const link = signIn.link(`${base}/console`);
    around.out(linesToPaste({ base, link, secrets, models, place }));
    await signalled;
  } finally {
    server.close();
    await gateway.close({ drainMs: 5_000 });
    admin.close();
    server.closeAllConnections();
    await upstream.close();
    await close();
  }
  return exitCodes.done;
}

function listening(server: Server, port: number): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once('error', (error) => {
      const message = `can't listen on port ${port}: choose another by --port.`;
      reject(new CommandError(exitCodes.failed, message, error));
    });
    server.listen(port, '127.0.0.1', () => {
      const bound = server.address();
      resolve(typeof bound === 'object' && bound !== null ? bound.port : port);
    });
  });
}

/** Prints the JSON Schema of the configuration file, which the build ships. */
const schema: Command = {
  name: 'schema',
  summary: 'print the JSON Schema of tollgate.json',
  options: {},
  about: `Prints the schema with which editors complete the configuration file. The package
contains it as dist/tollgate-config.schema.json; "$schema" in the file can point there.`,
  examples: ['npx tollgate schema > tollgate.schema.json'],
  run: async ({ around }) => {
    printJson(around, configJsonSchema());
    return exitCodes.done;
  },
};

export const commands: readonly Command[] = [
  ...[demo, serve, check, migrate],
  ...keyCommands,
  ...[report, calls, refusals, deletion],
  ...[channels, ...processChanges],
  ...[...catalogCommands, audit, consoleLink],
  notifyTest,
  schema,
  completionOf(() => commands),
];
