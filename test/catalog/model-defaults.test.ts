// suite: slow
/** The defaults for what a model may leave out. */
import { describe, expect, it } from 'vitest';
import { staticCatalog } from '../../src/catalog/static-catalog.ts';
import type { Channel, Model } from '../../src/ports/models/catalog.ts';
import {
  priorityOf,
  protocolsOf,
  vendorOf,
  weightOf,
} from '../../src/ports/models/model-defaults.ts';
import { imagePrice, tokenPrice } from '../../src/prices/codec.ts';

const price = tokenPrice({ input: '1', output: '2' });

function channel(dialect: Channel['dialect']): Channel {
  return { id: dialect, dialect, baseUrl: 'https://api.example/v1', credential: 'secret' };
}

function model(change: Partial<Model> = {}): Model {
  return { id: 'm', groups: ['staff'], price, channels: [channel('openai')], ...change };
}

describe('a model with only its required members', () => {
  it('is listed for chat and native callers', () => {
    const catalog = staticCatalog([model()]);

    expect(catalog.list('staff', 'chat')).toHaveLength(1);
    expect(catalog.list('staff', 'native')).toHaveLength(1);
    expect(catalog.list('staff', 'images')).toHaveLength(0);
  });

  it('with a price per image is listed for image callers alone', () => {
    const images = model({ price: imagePrice([{ price: '0.04' }]) });

    expect(protocolsOf(images)).toEqual(['images']);
  });

  it.each([
    ['openai', 'OpenAI'],
    ['gemini', 'Google'],
    ['anthropic', 'Anthropic'],
  ] as const)('over %s has the vendor %s', (dialect, vendor) => {
    expect(vendorOf(model({ channels: [channel(dialect)] }))).toBe(vendor);
  });

  it('has channels of the same priority and weight', () => {
    expect([priorityOf(channel('openai')), weightOf(channel('openai'))]).toEqual([0, 1]);
  });

  it('is refused if its channels can serve none of its default protocols', () => {
    const images = model({
      price: imagePrice([{ price: '0.04' }]),
      channels: [channel('anthropic')],
    });

    expect(() => staticCatalog([images])).toThrow("can't serve images");
  });
});
