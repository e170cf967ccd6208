/** A catalog over a temporary file, with a fake clock and events that a test can await. */
import { mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import {
  type JsonFileCatalog,
  type JsonFileCatalogOptions,
  jsonFileCatalog,
} from '../../src/catalog/json-file-catalog.ts';
import type { GatewayEvent } from '../../src/events/events.ts';
import { type FakeClock, fakeClock } from '../../src/testing/fake-clock.ts';

/** A file in a temporary folder. */
export interface CatalogFile {
  readonly folder: string;
  readonly file: string;
  readonly clock: FakeClock;
  /** All events so far. */
  readonly events: readonly GatewayEvent[];
  /** Overwrites the file. */
  write(content: unknown): Promise<void>;
  /** Replaces the file atomically by a rename. */
  replace(content: unknown): Promise<void>;
  open(options?: Partial<JsonFileCatalogOptions>): Promise<JsonFileCatalog>;
  /** Records an event, for a test that passes its own listener. */
  report(event: GatewayEvent): void;
  /** Lets time pass until there is another event. */
  nextEvent(): Promise<GatewayEvent>;
}

/** Makes a temporary folder for the file; the folder is removed when the test is over. */
export async function catalogFile(): Promise<CatalogFile> {
  const folder = await mkdtemp(join(tmpdir(), 'tollgate-catalog-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  const file = join(folder, 'models.json');
  const clock = fakeClock();
  const events: GatewayEvent[] = [];
  let taken = 0;
  const report = (event: GatewayEvent): void => {
    events.push(event);
  };

  return {
    folder,
    file,
    clock,
    events,
    write: (content) => writeFile(file, textOf(content)),
    replace: async (content) => {
      const newFile = join(folder, 'models.json.new');
      await writeFile(newFile, textOf(content));
      await rename(newFile, file);
    },
    open: (options) => jsonFileCatalog({ path: file, clock, onEvent: report, ...options }),
    report,
    nextEvent: async () => {
      for (;;) {
        const event = events[taken];
        if (event !== undefined) {
          taken += 1;
          return event;
        }
        clock.advance(2_000);
        await new Promise((resolve) => setImmediate(resolve));
      }
    },
  };
}

/** A channel in the file's form; its secret is in the environment of every test. */
export const channelJson = {
  id: 'openai-1',
  dialect: 'openai',
  baseUrl: 'https://api.openai.com/v1',
  credential: { env: 'PATH' },
  priority: 0,
  weight: 1,
} as const;

/** A model in the file's form. */
export const modelJson = {
  id: 'gpt-5',
  vendor: 'OpenAI',
  protocols: ['chat'],
  groups: ['staff'],
  price: { per: 'token', input: '0.000000001', output: '2.5' },
  channels: [],
} as const;

/** `{ "models": […] }` with models of these ids. */
export function modelsJson(...ids: readonly string[]): object {
  return { models: ids.map((id) => ({ ...modelJson, id })) };
}

function textOf(content: unknown): string | Uint8Array {
  if (typeof content === 'string' || content instanceof Uint8Array) return content;
  return JSON.stringify(content, undefined, 2);
}
