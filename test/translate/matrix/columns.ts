/** The columns of the matrix: every protocol over every dialect, at models of today. */
import type { DialectName } from '../../../src/ports/models/capabilities.ts';

/** What callers speak in a content call. */
export type Protocol = 'chat' | 'native';

/** A column of requests. */
export interface RequestColumn {
  readonly title: string;
  readonly protocol: Protocol | 'responses' | 'messages';
  readonly dialect: DialectName;
}

/** A column of requests and replies. */
export interface Column extends RequestColumn {
  readonly protocol: Protocol | 'messages';
}

/** A column of chat completions or native calls. */
export interface ContentColumn extends Column {
  readonly protocol: Protocol;
}

/** The translating ones, then the relays. */
export const columns: readonly ContentColumn[] = [
  { title: 'chat over gemini', protocol: 'chat', dialect: 'gemini' },
  { title: 'chat over anthropic', protocol: 'chat', dialect: 'anthropic' },
  { title: 'native over openai', protocol: 'native', dialect: 'openai' },
  { title: 'native over anthropic', protocol: 'native', dialect: 'anthropic' },
  { title: 'chat over openai', protocol: 'chat', dialect: 'openai' },
  { title: 'native over gemini', protocol: 'native', dialect: 'gemini' },
];

/** Responses over every dialect; a channel of OpenAI's has chat completions only. */
export const responsesColumns: readonly RequestColumn[] = [
  { title: 'responses over openai (chat)', protocol: 'responses', dialect: 'openai' },
  { title: 'responses over gemini', protocol: 'responses', dialect: 'gemini' },
  { title: 'responses over anthropic', protocol: 'responses', dialect: 'anthropic' },
];

/** Messages over every other dialect; Anthropic's own gets the caller's bytes. */
export const messagesColumns: readonly Column[] = [
  { title: 'messages over openai', protocol: 'messages', dialect: 'openai' },
  { title: 'messages over gemini', protocol: 'messages', dialect: 'gemini' },
];

/** Messages over every dialect, for replies. */
export const messagesReplyColumns: readonly Column[] = [
  ...messagesColumns,
  { title: 'messages over anthropic', protocol: 'messages', dialect: 'anthropic' },
];

/** The model that a channel of a dialect serves. */
export const models: Readonly<Record<DialectName, string>> = {
  openai: 'gpt-5.6',
  gemini: 'gemini-3.1-pro',
  anthropic: 'claude-opus-5',
};

/** Whether the caller speaks the upstream's dialect. */
export function isRelay({ protocol, dialect }: RequestColumn): boolean {
  return dialect === relayed[protocol];
}

/** A channel of the Responses columns has chat completions only. */
const relayed: Readonly<Record<RequestColumn['protocol'], DialectName | undefined>> = {
  chat: 'openai',
  native: 'gemini',
  responses: undefined,
  messages: 'anthropic',
};
