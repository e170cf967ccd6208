/**
 * The four wires, each with a plain request of one question: as the caller sends it, and as it goes
 * to an upstream. The Responses API of upstreams is only relayed, so no client codec writes it.
 */
import type { ContentRequest } from '../../../src/canonical/request.ts';
import { capabilitiesOf } from '../../../src/dialects/capabilities.ts';
import type {
  ContentExchange,
  ContentServerCodec,
  ReplyHead,
  UpstreamTarget,
} from '../../../src/dialects/codec.ts';
import { dialects } from '../../../src/dialects/table.ts';
import type { JsonObject } from '../../../src/json.ts';
import type { Capabilities, DialectName } from '../../../src/ports/models/capabilities.ts';
import { clientCodecs, serverCodecs } from '../../support/codecs.ts';
import { plainRequest, user } from '../../support/plain-request.ts';
import { text } from './parts.ts';

/** The wires, as the docs name them. */
export const wireNames = ['chat', 'responses', 'messages', 'gemini'] as const;
/** A wire. */
export type WireName = (typeof wireNames)[number];
/** Whether it is the name of a wire. */
export function isWireName(name: string): name is WireName {
  return wireNames.some((wire) => wire === name);
}
/** A wire of upstreams that requests are translated for. */
export type UpstreamWire = Exclude<WireName, 'responses'>;

/** What a request is written for: a model, or the flags in which its channel differs. */
export type To = string | (Capabilities & { readonly model?: string; readonly limit?: number });

interface Wire {
  readonly server: ContentServerCodec;
  /** The plain request of a caller, and what is read from it. */
  readonly sent: JsonObject;
  readonly read: Partial<ContentRequest>;
}

function codecOf({ content }: { readonly content?: ContentServerCodec }): ContentServerCodec {
  if (content === undefined) throw new Error('This API has no content.');
  return content;
}

const question = { role: 'user', content: 'Hi' };

/** Each wire as its callers use it. */
export const wires: Readonly<Record<WireName, Wire>> = {
  chat: {
    server: codecOf(serverCodecs.chat),
    sent: { model: 'm', messages: [question] },
    read: {},
  },
  responses: {
    server: codecOf(serverCodecs.responses),
    sent: { model: 'm', input: [question] },
    read: {},
  },
  messages: {
    server: codecOf(serverCodecs.messages),
    sent: { model: 'm', max_tokens: 64, messages: [question] },
    read: { maxOutputTokens: 64 },
  },
  gemini: {
    server: codecOf(serverCodecs.native),
    sent: { contents: [{ role: 'user', parts: [{ text: 'Hi' }] }] },
    read: {},
  },
};

interface Upstream {
  readonly dialect: DialectName;
  readonly model: string;
  /** The body of the plain request, without the model. */
  readonly written: JsonObject;
}

/** Each wire as its upstreams take it. */
export const upstreams: Readonly<Record<UpstreamWire, Upstream>> = {
  chat: { dialect: 'openai', model: 'gpt-4.1', written: { messages: [question] } },
  messages: {
    dialect: 'anthropic',
    model: 'claude-opus-5',
    written: {
      max_tokens: 8_192,
      stream: false,
      messages: [{ role: 'user', content: [{ type: 'text', text: 'Hi' }] }],
    },
  },
  gemini: {
    dialect: 'gemini',
    model: 'gemini-3-flash',
    written: { contents: [{ role: 'user', parts: [{ text: 'Hi' }] }] },
  },
};

/** The plain request, with these members. */
function requestWith(members: Partial<ContentRequest>): ContentRequest {
  return { ...plainRequest, turns: [user(text('Hi'))], ...members };
}

function targetOf(wire: UpstreamWire, to: To | undefined): UpstreamTarget {
  const { dialect, model: usual } = upstreams[wire];
  const { model = usual, limit, ...own } = typeof to === 'string' ? { model: to } : (to ?? {});
  let count = 0;
  return {
    upstreamModel: model,
    capabilities: capabilitiesOf(dialects[dialect].capabilities, model, own),
    maxOutputTokens: limit,
    ids: () => {
      count += 1;
      return `00000000-0000-4000-8000-${String(count).padStart(12, '0')}`;
    },
  };
}

/** Writes the request for an upstream. */
export function exchangeWith(
  wire: UpstreamWire,
  members: Partial<ContentRequest> = {},
  to?: To,
): ContentExchange {
  const codec = clientCodecs[upstreams[wire].dialect].content;
  return codec.begin(requestWith(members), targetOf(wire, to));
}

/** The metadata of every reply. */
export function headOf(members: Partial<ReplyHead> = {}): ReplyHead {
  let count = 0;
  return {
    fallbackId: 'fallback',
    createdSeconds: 1_795_177_645,
    newId: () => {
      count += 1;
      return `n${count}`;
    },
    modelId: 'some/model:1',
    wantsUsage: true,
    framing: 'sse',
    estimatedInputTokens: () => 77,
    ...members,
  };
}
