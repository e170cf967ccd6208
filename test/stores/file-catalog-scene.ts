/** A catalog over a file of its own, with time that stands still and events one can wait for. */
import { mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import type { GatewayEvent } from '../../src/events.ts';
import {
  type JsonFileCatalog,
  type JsonFileCatalogOptions,
  jsonFileCatalog,
} from '../../src/stores/file/catalog.ts';
import { type FakeClock, fakeClock } from '../../src/testing/fake-clock.ts';

/** A file in a folder of its own. */
export interface FileScene {
  readonly folder: string;
  readonly file: string;
  readonly clock: FakeClock;
  /** Everything heard so far. */
  readonly events: readonly GatewayEvent[];
  /** Writes into the file where it lies. */
  write(content: unknown): Promise<void>;
  /** Puts a new file in its place at once. */
  replace(content: unknown): Promise<void>;
  open(options?: Partial<JsonFileCatalogOptions>): Promise<JsonFileCatalog>;
  /** Takes an event, for a listener of the test's own. */
  hear(event: GatewayEvent): void;
  /** Looks at the file until it brings news. */
  news(): Promise<GatewayEvent>;
}

/** The scene; the folder goes when the test is over. */
export async function fileScene(): Promise<FileScene> {
  const folder = await mkdtemp(join(tmpdir(), 'tollgate-catalog-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  const file = join(folder, 'models.json');
  const clock = fakeClock();
  const events: GatewayEvent[] = [];
  let taken = 0;
  const hear = (event: GatewayEvent): void => {
    events.push(event);
  };

  return {
    folder,
    file,
    clock,
    events,
    write: (content) => writeFile(file, textOf(content)),
    replace: async (content) => {
      const beside = join(folder, 'models.json.new');
      await writeFile(beside, textOf(content));
      await rename(beside, file);
    },
    open: (options) => jsonFileCatalog({ path: file, clock, onEvent: hear, ...options }),
    hear,
    news: async () => {
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

/** A channel as a file has it; its secret stands in the environment of every test. */
export const channelJson = {
  id: 'openai-1',
  dialect: 'openai',
  baseUrl: 'https://api.openai.com/v1',
  credential: { env: 'PATH' },
  priority: 0,
  weight: 1,
} as const;

/** A model as a file has it. */
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
