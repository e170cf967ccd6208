/** What a model's record may leave out, and what stands in for it. */
import { describe, expect, it } from 'vitest';
import type { Channel, Model } from '../../src/ports/catalog.ts';
import { priorityOf, protocolsOf, vendorOf, weightOf } from '../../src/ports/model-defaults.ts';
import { imagePrice, tokenPrice } from '../../src/prices/codec.ts';
import { staticCatalog } from '../../src/stores/memory/catalog.ts';

const price = tokenPrice({ input: '1', output: '2' });

function channel(dialect: Channel['dialect']): Channel {
  return { id: dialect, dialect, baseUrl: 'https://api.example/v1', credential: 'secret' };
}

function model(change: Partial<Model> = {}): Model {
  return { id: 'm', groups: ['staff'], price, channels: [channel('openai')], ...change };
}

describe('a record with nothing but what can’t be guessed', () => {
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
  ] as const)('over %s is of %s', (dialect, vendor) => {
    expect(vendorOf(model({ channels: [channel(dialect)] }))).toBe(vendor);
  });

  it('has one priority, and an equal share for each channel', () => {
    expect([priorityOf(channel('openai')), weightOf(channel('openai'))]).toEqual([0, 1]);
  });

  it('is refused where its channels serve none of what it offers by default', () => {
    const images = model({
      price: imagePrice([{ price: '0.04' }]),
      channels: [channel('anthropic')],
    });

    expect(() => staticCatalog([images])).toThrow("can't serve images");
  });
});
