/** A gateway with one embedding model, over an upstream that computes its answers. */
import type { Capabilities, DialectName } from '../../../src/ports/models/capabilities.ts';
import type { Model } from '../../../src/ports/models/catalog.ts';
import type { UpstreamClient } from '../../../src/ports/upstream-client.ts';
import {
  type GatewaySetup,
  gatewayInProcess,
  type InProcessGateway,
} from '../../support/gateway-in-process.ts';
import { type ScriptedReply, scriptedBody } from '../../support/scripted-upstream.ts';

/** A request as an upstream got it. */
export interface SentRequest {
  readonly origin: string;
  readonly path: string;
  readonly body: ReturnType<typeof JSON.parse>;
}

/** An upstream that answers each request by a function; `index` counts from 0. */
export interface AnsweringUpstream extends UpstreamClient {
  readonly sent: readonly SentRequest[];
}

/** Makes the upstream. */
export function answering(
  answer: (request: SentRequest, index: number) => ScriptedReply,
): AnsweringUpstream {
  const sent: SentRequest[] = [];
  return {
    sent,
    send: async ({ origin, path, body }) => {
      const text = Buffer.concat(body.map((piece) => Buffer.from(piece))).toString();
      const request = { origin, path, body: JSON.parse(text) };
      sent.push(request);
      const reply = answer(request, sent.length - 1);
      const { status = 200, headers = { 'content-type': 'application/json' } } = reply;
      return { status, headers, body: scriptedBody(reply) };
    },
    close: async () => {},
  };
}

/** Differences from a free model with one channel. */
export interface EmbedSetup extends GatewaySetup {
  readonly dialect: DialectName;
  readonly upstream?: UpstreamClient;
  readonly capabilities?: Capabilities;
  readonly upstreamModel?: string;
  readonly model?: Partial<Model>;
  /** The number of channels, each an account of its own. Default: 1. */
  readonly channels?: number;
}

/** Creates the gateway, whose model is called `embedder`. */
export function embedGateway({
  dialect,
  upstream,
  capabilities,
  upstreamModel = 'text-embedding-3-small',
  model,
  channels = 1,
  ...setup
}: EmbedSetup): InProcessGateway {
  return gatewayInProcess({
    ...setup,
    models: [
      {
        id: 'embedder',
        protocols: ['embeddings'],
        groups: ['staff'],
        price: { per: 'token', rates: { input: 1_000_000n } },
        channels: Array.from({ length: channels }, (_, index) => ({
          id: `c${index}`,
          dialect,
          baseUrl: `https://c${index}.example/v1`,
          credential: 'account-secret',
          priority: index,
          upstreamModel,
          ...(capabilities === undefined ? {} : { capabilities }),
        })),
        ...model,
      },
    ],
    options: { ...(upstream === undefined ? {} : { upstream }), ...setup.options },
  });
}

/** A call of `/v1/embeddings`. */
export function openaiCall(body: object): { readonly path: string; readonly body: object } {
  return { path: '/v1/embeddings', body: { model: 'embedder', ...body } };
}

/** A native call. */
export function nativeCall(
  method: 'embedContent' | 'batchEmbedContents',
  body: object,
): { readonly path: string; readonly body: object } {
  return { path: `/v1beta/models/embedder:${method}`, body };
}

/** The numbers of 32-bit floats that they are rounded to. */
export function asFloats(values: readonly number[]): readonly number[] {
  return [...Float32Array.from(values)];
}

/** The numbers in OpenAI's Base64, as its clients decode it. */
export function floatsOf(base64: string): readonly number[] {
  const bytes = Uint8Array.from(Buffer.from(base64, 'base64'));
  return [...new Float32Array(bytes.buffer)];
}

/** The Base64 of numbers, as OpenAI writes it. */
export function base64Of(values: readonly number[]): string {
  return Buffer.from(Float32Array.from(values).buffer).toString('base64');
}
