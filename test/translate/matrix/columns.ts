/** The columns of the matrix: every protocol over every dialect, at models of today. */
import type { DialectName } from '../../../src/ports/catalog.ts';

/** What callers speak in a content call. */
export type Protocol = 'chat' | 'native';

/** One column. */
export interface Column {
  readonly title: string;
  readonly protocol: Protocol;
  readonly dialect: DialectName;
}

/** The translating ones, then the relays. */
export const columns: readonly Column[] = [
  { title: 'chat over gemini', protocol: 'chat', dialect: 'gemini' },
  { title: 'chat over anthropic', protocol: 'chat', dialect: 'anthropic' },
  { title: 'native over openai', protocol: 'native', dialect: 'openai' },
  { title: 'native over anthropic', protocol: 'native', dialect: 'anthropic' },
  { title: 'chat over openai', protocol: 'chat', dialect: 'openai' },
  { title: 'native over gemini', protocol: 'native', dialect: 'gemini' },
];

/** The model that a channel of a dialect serves. */
export const models: Readonly<Record<DialectName, string>> = {
  openai: 'gpt-5.6',
  gemini: 'gemini-3.1-pro',
  anthropic: 'claude-opus-5',
};

/** Whether the caller speaks the upstream's dialect. */
export function isRelay({ protocol, dialect }: Column): boolean {
  return dialect === (protocol === 'chat' ? 'openai' : 'gemini');
}
