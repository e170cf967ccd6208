/** Recorded Messages requests that other dialects refuse, and the member that is named. */
import type { DialectName } from '../../../src/ports/models/capabilities.ts';

/** What only Anthropic has. */
const refused: Readonly<Record<string, string>> = {
  'anthropic/advisor': 'tools[0]',
  'anthropic/code-exec-container': 'tools[0]',
  'anthropic/stream-advisor': 'tools[0]',
  'anthropic/stream-code-exec': 'tools[0]',
  'messages/advisor': 'tools[0]',
  'messages/advisor-redacted': 'tools[0]',
  'messages/code-exec-container': 'tools[0]',
  'messages/code-exec-container.2': 'container',
  'messages/count-tokens-memory': 'tools[0]',
  'messages/mcp': 'mcp_servers',
  'messages/mcp-unfinished': 'mcp_servers',
  'messages/memory': 'tools[0]',
  'messages/stream-advisor': 'tools[0]',
  'messages/stream-code-exec': 'tools[0]',
  'messages/stream-pause-turn': 'tools[0]',
  'messages/stream-web-fetch': 'tools[0]',
  'messages/stream-web-search': 'tools[0]',
  'messages/tool-addition': 'messages[3].content[0]',
  'messages/tool-result-file-id': 'messages[2].content[0].content[0].source.file_id',
  'messages/web-fetch': 'tools[0]',
  'messages/web-search': 'tools[0]',
};

/** Media by URL that a dialect does not take. */
const refusedOver: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  openai: { 'messages/document-url.1': 'messages[0].content[1]' },
  gemini: { 'anthropic/image-mime.1': 'messages[0].content[1]' },
};

/** The member for which a dialect refuses a recorded request; undefined if it takes it. */
export function expectedRefusal(name: string, dialect: DialectName): string | undefined {
  return refusedOver[dialect]?.[name] ?? refused[name] ?? refused[name.replace(/\.\d+$/, '')];
}
