/**
 * A mounted gateway for translated calls: callers and upstreams of its models speak different
 * dialects. A model's id is the dialect and the upstream's name for it: `gemini/gemini-3-agent-2`.
 */
import { vendorCapabilities } from '../../../src/dialects/vendors.ts';
import { type DialectName, dialectNames } from '../../../src/ports/models/capabilities.ts';
import type { Channel, Model } from '../../../src/ports/models/catalog.ts';
import { faultNames } from '../../../src/testing/providers/provider.ts';
import type { FakeUpstream } from '../../../src/testing/providers/server.ts';
import { type MountedGateway, mountedGateway } from '../../support/mounted-gateway.ts';

/** The upstreams' names of the models, by dialect. */
const upstreamModels: Readonly<Record<DialectName, readonly string[]>> = {
  gemini: ['gemini-3-agent-2', 'gemini-2.5-flash-agent-2', 'gemini-3-pro'],
  anthropic: ['claude-opus-5-agent-2', 'claude-sonnet-4-5-agent-2', 'claude-opus-5'],
  openai: ['gpt-4.1-agent-2', 'deepseek-agent-2', 'gpt-4.1'],
};

/** The group of all callers, chat and native. */
const groups: readonly string[] = ['chat', 'native'];

/** Creates the gateway on bare `node:http`. */
export function translatingGateway(): Promise<MountedGateway> {
  return mountedGateway({}, translatedModels);
}

/** Its models. */
function translatedModels(upstream: FakeUpstream, credential: string): readonly Model[] {
  const baseUrls: Readonly<Record<DialectName, string>> = {
    openai: upstream.openaiBaseUrl,
    gemini: upstream.geminiBaseUrl,
    anthropic: upstream.anthropicBaseUrl,
  };
  const model = (dialect: DialectName, upstreamModel: string): Model => {
    const channel: Channel = {
      id: `${dialect}-1`,
      dialect,
      baseUrl: baseUrls[dialect],
      credential,
      upstreamModel,
      priority: 0,
      weight: 1,
      ...(upstreamModel.startsWith('deepseek')
        ? { capabilities: vendorCapabilities.deepseek }
        : {}),
    };
    return {
      id: `${dialect}/${upstreamModel}`,
      vendor: dialect,
      protocols: ['chat', 'native'],
      groups,
      price: { per: 'token', rates: { input: 1_000_000n, output: 4_000_000n } },
      channels: [channel],
      maxOutputTokens: 4_096,
    };
  };
  const drawing: Model = {
    ...model('gemini', 'gemini-3-pro-image'),
    protocols: ['images'],
    groups: ['image'],
    price: { per: 'image', rows: [{ nanos: 1_000_000n }] },
  };
  return dialectNames.flatMap((dialect): readonly Model[] => [
    ...[...upstreamModels[dialect], ...faultNames].map((name) => model(dialect, name)),
    { ...model(dialect, `${dialect}-newest`), id: `${dialect}/strict`, strict: true },
    ...(dialect === 'gemini' ? [drawing] : []),
  ]);
}
