/** The configuration in deploy/kubernetes, which Compose uses too, as `serve` reads it. */
import type { ServeConfig } from '../../src/command/config/config.ts';
import { readConfig } from '../../src/command/config/read.ts';
import { readDeployed } from './files.ts';

/** What `gateway.close` may take after the drain, by docs/deploying.md. */
export const closingMs = 20_000;

/** The variables that a file of the folder needs: those without a default. */
export function variablesOf(file: string): ReadonlySet<string> {
  const text = readDeployed(`kubernetes/${file}`);
  const names = text.matchAll(/\$\{(\w+)\}|"env": "(\w+)"/g);
  return new Set([...names].map(([, inText, named]) => inText ?? named ?? ''));
}

export const environment: Readonly<Record<string, string>> = {
  DATABASE_URL: 'postgres://host/database',
  REDIS_URL: 'redis://host',
  KEY_PEPPER: 'aB3dE6gH9jK2mN5pQ8sT1vW4yZ7bC0fG',
  OPENAI_API_KEY: 'sk-0',
};

/** @throws ConfigurationError if `serve` would refuse the file */
export async function configOf(more: Readonly<Record<string, string>> = {}): Promise<ServeConfig> {
  const text = readDeployed('kubernetes/tollgate.json');
  return (await readConfig(Buffer.from(text), { ...environment, ...more })).config;
}
