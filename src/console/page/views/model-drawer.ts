/** One model: its price in words, its limits and channels, and the edit of its price. */
import type { CatalogModel, CatalogVersion, PricePreview } from '../api.ts';
import { canManage, type PageContext } from '../context.ts';
import { changeDialog, FormProblem, openDialog } from '../dialog.ts';
import { button, type Child, el, link } from '../dom.ts';
import { type Field, textField } from '../field.ts';
import { amountText, countText, moneyText } from '../format.ts';
import { type Column, factList, table } from '../panel.ts';

type CatalogChannel = CatalogModel['channels'][number];
type Difference = NonNullable<CatalogVersion['changes']>[number];

export function modelParts(model: CatalogModel, page: PageContext, done: () => void): HTMLElement {
  const { modelId, description } = model;
  return el('article', { class: 'request' }, [
    description === null ? undefined : el('p', {}, description),
    el('section', { class: 'facts' }, [
      el('h3', {}, 'Price for callers'),
      pricePart(model),
      editButton(model, page, done),
    ]),
    factsOf(model),
    el('section', { class: 'facts' }, [
      el('h3', {}, 'Channels, and what they cost you'),
      channelTable(model, page),
    ]),
    el('div', { class: 'actions' }, [
      link(page.href({ view: 'calls', params: { model: modelId } }), 'Calls of this model'),
      link(page.href({ view: 'channels', params: { model: modelId } }), 'State of its channels'),
    ]),
  ]);
}

function pricePart({ price }: CatalogModel): Child {
  if (price === null) return el('p', { class: 'hint' }, 'Each model has its price in a list.');
  const unit = price.per === 'token' ? 'Per million tokens.' : undefined;
  return [
    el('ul', { class: 'lines' }, [priceLines(price).map((line) => el('li', {}, line))]),
    unit === undefined ? undefined : el('p', { class: 'hint' }, unit),
  ];
}

function factsOf(model: CatalogModel): HTMLElement {
  const { aliases, groups, protocols, contextTokens, maxOutputTokens, limits, fallbacks } = model;
  const tokens = (count: number | null): string | undefined =>
    count === null ? undefined : `${countText(count)} tokens`;
  return factList('Model', [
    ['Also called', aliases.join(', ')],
    ['Groups', groups.join(', ') || 'none: no key may use it'],
    ['APIs', protocols?.join(', ')],
    ['Context', tokens(contextTokens)],
    ['Output at most', tokens(maxOutputTokens)],
    [
      'Limits',
      limits.map(({ of, per, amount }) => `${countText(amount)} ${of} a ${per}`).join(', '),
    ],
    ['If all are out', fallbacks.join(', ')],
  ]);
}

function channelTable({ channels, modelId }: CatalogModel, page: PageContext): HTMLElement {
  const columns: readonly Column<CatalogChannel>[] = [
    {
      head: 'channel',
      kind: 'main',
      cell: ({ channelId, platform, dialect, upstreamModel }) => [
        link(page.href({ view: 'channels', params: { channel: channelId } }), channelId),
        el('span', { class: 'below' }, `${platform ?? dialect}, ${upstreamModel}`),
      ],
    },
    { head: 'cost', kind: 'wide', cell: ({ cost }) => costCell(cost) },
    { head: 'weight', kind: 'number', cell: ({ weight }) => String(weight) },
  ];
  return table<CatalogChannel>({
    label: `Channels of ${modelId}`,
    columns,
    rows: channels,
    keyOf: ({ channelId }) => channelId,
  });
}

function editButton(model: CatalogModel, page: PageContext, done: () => void): Child {
  const { price } = model;
  if (!page.session.capabilities.changePrices) {
    return el('p', { class: 'hint' }, [
      'This catalog is in code or in a file: change its prices there.',
    ]);
  }
  if (!canManage(page) || price === null || price.per === 'free') return undefined;
  return button('Edit price', () => priceDialog(model, price, page, done), {
    'data-focus': 'edit-price',
  });
}

/** The fields of a price, and the price that they state. */
interface PriceFields {
  readonly nodes: readonly Child[];
  price(): StatedPrice;
}

/** Asks for the amounts first, then shows what they change, and publishes only after that. */
function priceDialog(
  { modelId }: CatalogModel,
  price: StatedPrice,
  page: PageContext,
  done: () => void,
): void {
  const fields = price.per === 'image' ? imageFields(price) : rateFields(price);
  const path = `/models/${encodeURIComponent(modelId)}`;
  openDialog({
    title: `Price of ${modelId}`,
    action: 'Preview',
    content: fields.nodes,
    run: async (dialog) => {
      const wanted = fields.price();
      const preview = await page.api.post<PricePreview>(`${path}/preview-price`, { price: wanted });
      if (preview.differences.length === 0) {
        throw new FormProblem('input', 'This is the price that it has.');
      }
      dialog.close();
      changeDialog(page, done, {
        title: `Change the price of ${modelId}?`,
        action: 'Publish',
        content: previewParts(preview),
        change: async () => {
          await page.api.post(`${path}/price`, { price: wanted, after: preview.version });
          return `The price of ${modelId} has changed. Other processes follow in 2 s.`;
        },
      });
      return undefined;
    },
  });
}

type TokenPrice = Extract<StatedPrice, { readonly per: 'token' }>;
type ImagePrice = Extract<StatedPrice, { readonly per: 'image' }>;

const usualRates: readonly RateName[] = ['input', 'cachedInput', 'output'];

function rateFields(price: StatedPrice): PriceFields {
  const token: TokenPrice = price.per === 'token' ? price : { per: 'token', input: '' };
  const shown = allRates.filter((name) => usualRates.includes(name) || token[name] != null);
  const fields = shown.map((name) => {
    const usual = name === 'input' ? '0.15' : 'as input';
    return [name, amountInput(name, capital(rateNames[name]), token[name], usual)] as const;
  });
  const rest = [
    token.tiers == null ? undefined : 'the tiers for long prompts',
    token.members == null ? undefined : 'the fees of tools',
  ].filter((text) => text !== undefined);
  return {
    nodes: [
      el('p', { class: 'hint' }, 'Per million tokens. An empty field follows its default.'),
      el('div', { class: 'field-row' }, [fields.map(([, field]) => field.node)]),
      rest.length === 0
        ? undefined
        : el('p', { class: 'hint' }, `${capital(rest.join(' and '))} stay as they are.`),
    ],
    price: () => {
      const { per, tiers, members } = token;
      const rates = fields
        .map(([name, field]) => [name, amountIn(name, field, name === 'input')] as const)
        .filter(([, rate]) => rate !== undefined);
      const input = amountIn('input', fields[0]?.[1], true) ?? '';
      return { per, ...Object.fromEntries(rates), input, ...present({ tiers, members }) };
    },
  };
}

function imageFields(price: ImagePrice): PriceFields {
  const fields = price.rows.map((row, index) => {
    const which = [row.size, row.quality].filter((text) => text != null).join(' ');
    const label = which === '' ? 'An image' : which;
    return [row, amountInput(`row-${index}`, label, row.price, '0.04')] as const;
  });
  return {
    nodes: [
      el('p', { class: 'hint' }, 'Per image.'),
      el('div', { class: 'field-row' }, [fields.map(([, field]) => field.node)]),
    ],
    price: () => ({
      per: 'image',
      rows: fields.map(([row, field], index) => ({
        ...present(row),
        price: amountIn(`row-${index}`, field, true) ?? '',
      })),
      ...present({ members: price.members }),
    }),
  };
}

/** Without the members that the interface writes as null, which it does not read. */
function present<T extends object>(members: T): { [Name in keyof T]: NonNullable<T[Name]> } {
  return JSON.parse(JSON.stringify(members), (_name, value) => value ?? undefined);
}

function amountInput(
  name: string,
  label: string,
  value: string | null | undefined,
  placeholder: string,
): Field {
  return textField(name, label, { inputmode: 'decimal', value: value ?? '', placeholder });
}

function amountIn(name: string, field: Field | undefined, isRequired: boolean): string | undefined {
  const text = field?.value() ?? '';
  if (text === '' && !isRequired) return undefined;
  if (/^\d{1,7}(?:\.\d{1,9})?$/.test(text)) return text;
  throw new FormProblem(name, 'Write an amount such as 0.15, with a point and without commas.');
}

function previewParts({ differences, calls, ...sums }: PricePreview): readonly Child[] {
  const { chargedNanos, beforeNanos, afterNanos } = sums;
  return [
    el('ul', { class: 'lines' }, [
      differences.map((difference) => el('li', {}, changeLine(difference, false))),
    ]),
    calls === null || chargedNanos === null
      ? el('p', { class: 'hint' }, 'The usage log of this gateway can’t be queried.')
      : factList('The last 30 days', [
          ['Calls', countText(calls)],
          ['Charged', el('span', { title: amountText(chargedNanos) }, moneyText(chargedNanos))],
          ['Their tokens at the old price', estimateText(beforeNanos)],
          ['Their tokens at the new price', estimateText(afterNanos)],
        ]),
    el('p', { class: 'hint' }, [
      'Estimates leave out tiers, fees and multipliers. Running calls keep the old price.',
    ]),
  ];
}

function estimateText(nanos: string | null): string {
  return nanos === null ? 'unknown: it depends on each image' : moneyText(nanos);
}

/** `price.input 0.15 → 0.2` */
export function changeLine(
  { modelId, member, before, after }: Difference,
  withModel: boolean,
): HTMLElement {
  const name = [withModel ? modelId : '', member].filter((text) => text !== '').join(' ');
  return el('span', { class: 'change' }, [
    el('span', { class: 'change-name' }, name),
    before === null ? ' added ' : undefined,
    after === null ? ' removed ' : undefined,
    ' ',
    before === null ? undefined : el('del', {}, before),
    before === null || after === null ? undefined : ' → ',
    after === null ? undefined : el('ins', {}, after),
  ]);
}

function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

type Price = CatalogModel['price'];
type StatedPrice = NonNullable<Price>;
type Cost = StatedPrice | 'reported' | null;

/** The rates that a price may have, in the order in which they are shown. */
const rateNames = {
  input: 'input',
  cachedInput: 'cached input',
  cacheWrite5m: '5 min cache write',
  cacheWrite1h: '1 h cache write',
  output: 'output',
  reasoning: 'reasoning',
  audioInput: 'audio input',
  audioOutput: 'audio output',
  imageInput: 'image input',
  imageOutput: 'image output',
  videoInput: 'video input',
} as const;

type RateName = keyof typeof rateNames;

const allRates: readonly RateName[] = Object.keys(rateNames).filter(isRateName);

function isRateName(name: string): name is RateName {
  return Object.hasOwn(rateNames, name);
}

type Rates = { readonly [Name in RateName]?: string | null };

/** The rates that are stated, with their names. */
function statedRates(rates: Rates): readonly (readonly [name: string, rate: string])[] {
  return allRates.flatMap((name) => {
    const rate = rates[name];
    return rate === undefined || rate === null ? [] : [[rateNames[name], rate] as const];
  });
}

/** A price in a line: the first rates, or the images. */
export function priceCell(price: Price): Child {
  if (price === null) return el('span', { class: 'hint' }, 'from a list of prices');
  const [first, ...more] = priceLines(price);
  return [first, more.length === 0 ? undefined : el('span', { class: 'below' }, more.join(' · '))];
}

/** A cost in a line. */
function costCell(cost: Cost): Child {
  if (cost === null) return 'not stated';
  return cost === 'reported' ? 'what its replies report' : priceCell(cost);
}

/** Everything that a price states, a line for each part. */
function priceLines(price: StatedPrice): readonly string[] {
  if (price.per === 'free') return ['free'];
  const members = Object.entries(price.members ?? {}).map(memberLine);
  if (price.per === 'image') {
    const rows = price.rows.map(({ size, quality, price: amount }) => {
      const which = [size, quality].filter((text) => text !== null && text !== undefined);
      return `${amount} per image${which.length === 0 ? '' : `, ${which.join(' ')}`}`;
    });
    return [...rows, ...members];
  }
  const { tiers } = price;
  return [
    ratesLine(price),
    ...(tiers ?? []).map(
      (tier) => `above ${countText(tier.aboveInputTokens)} input tokens: ${ratesLine(tier)}`,
    ),
    ...members,
  ];
}

function ratesLine(rates: Rates): string {
  return statedRates(rates)
    .map(([name, rate]) => `${name} ${rate}`)
    .join(', ');
}

type Member = {
  readonly multiplier?: string | null;
  readonly perCall?: string | null;
} | null;

function memberLine([name, price]: readonly [string, Member | undefined]): string {
  const what = name.replaceAll('_', ' ');
  const parts = [
    price?.multiplier == null ? undefined : `× ${price.multiplier}`,
    price?.perCall == null ? undefined : `${price.perCall} per call`,
  ].filter((text) => text !== undefined);
  return parts.length === 0 ? `${what} allowed` : `${what} ${parts.join(', ')}`;
}
