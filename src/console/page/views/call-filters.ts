/** The filters of calls and refused requests, each with what there is to choose from. */
import type { NamesReply } from '../api.ts';
import { type Combobox, combobox } from '../combobox.ts';
import type { PageContext, View } from '../context.ts';
import { button, el, link, refill } from '../dom.ts';
import { searchField } from '../field.ts';
import { outcomeHints, outcomeWord } from './call-facts.ts';

type Options = (text: string, signal: AbortSignal) => Promise<readonly string[]>;

export function callFilters(page: PageContext): Pick<View, 'node' | 'show'> {
  const names = async (of: string, q: string, signal: AbortSignal): Promise<readonly string[]> =>
    (await page.api.get<NamesReply>('/names', { of, q }, signal)).data;
  const outcome = outcomeField();
  const apply = (): void => {
    const params = Object.fromEntries(fields.map(({ name, field }) => [name, field.value()]));
    page.go({ view: 'calls', params: { ...params, outcome: outcome.value } });
  };
  const field = (name: string, label: string, options: Options) => ({
    name,
    field: combobox({
      ...{ name, label, options, changed: apply },
      placeholder: `any ${label.toLowerCase()}`,
    }),
  });
  const of =
    (kind: string): Options =>
    (text, signal) =>
      names(kind, text, signal);
  const fields: readonly { readonly name: string; readonly field: Combobox }[] = [
    field('key', 'Key', of('key')),
    field('model', 'Model', of('model')),
    field('channel', 'Channel', of('channel')),
    field('code', 'Refusal code', of('code')),
    field('group', 'Group', of('group')),
    ...(page.session.capabilities.usageRecords
      ? [field('metadata', 'Metadata', metadataOptions(names))]
      : []),
  ];
  outcome.addEventListener('change', apply);
  const clear = el('span', { class: 'clear' });
  const box = el('div', { class: 'filters more-filters', id: 'filters' }, [
    el('div', { class: 'filter' }, [
      el('label', { for: outcome.id, class: 'only-read' }, 'Outcome'),
      outcome,
    ]),
    fields.map(({ field: { node } }) => node),
    clear,
  ]);
  const opener = openerOf(box);
  return {
    node: el('div', { class: 'filter-bar' }, searchForm(page), opener.node, box),
    show: ({ params }) => {
      for (const { name, field: shown } of fields) shown.show(params[name] ?? '');
      outcome.value = params.outcome ?? '';
      const count = Object.values(params).filter((value) => value !== '').length;
      opener.show(count);
      const all = link(page.href({ view: 'calls' }), 'Clear', { 'data-focus': 'clear' });
      refill(clear, count > 0 ? all : undefined);
    },
  };
}

/** First a name, with which the field stays open, then one of its values. */
function metadataOptions(
  names: (of: string, q: string, signal: AbortSignal) => Promise<readonly string[]>,
): Options {
  return async (text, signal) => {
    const at = text.indexOf('=');
    if (at < 1) return (await names('metadata', text, signal)).map((name) => `${name}=`);
    const name = text.slice(0, at);
    const values = await names(`metadata.${name}`, text.slice(at + 1), signal);
    return values.map((value) => `${name}=${value}`);
  };
}

/** On a narrow screen the filters are behind this button. */
function openerOf(box: HTMLElement) {
  const node = button('Filters', () => open(!box.classList.contains('open')), {
    class: 'button filter-opener',
    'aria-controls': box.id,
    'aria-expanded': 'false',
  });
  const open = (isOpen: boolean): void => {
    box.classList.toggle('open', isOpen);
    node.setAttribute('aria-expanded', String(isOpen));
  };
  return {
    node,
    show: (count: number): void => {
      node.textContent = count === 0 ? 'Filters' : `Filters (${count})`;
    },
  };
}

/** Opens one request, wherever it is in the log. */
function searchForm(page: PageContext): HTMLElement {
  const { node, input, onSearch } = searchField('Find a request by its id', 'Request id');
  onSearch(() => {
    const id = input.value.trim();
    if (id !== '') page.go({ view: 'calls', id, params: page.route().params });
  });
  return node;
}

function outcomeField(): HTMLSelectElement {
  const option = ([name, hint]: readonly [string, string]): HTMLElement =>
    el('option', { value: name, title: hint }, outcomeWord(name));
  const all = Object.entries(outcomeHints);
  const failed = ['not_run', 'truncated', 'broken', 'cut', 'unknown'];
  const isFailed = ([name]: readonly [string, string]): boolean => failed.includes(name);
  return el('select', { id: 'filter-outcome' }, [
    el('option', { value: '' }, 'any outcome'),
    all.filter((one) => !isFailed(one)).map(option),
    el('optgroup', { label: 'failed' }, all.filter(isFailed).map(option)),
  ]);
}
