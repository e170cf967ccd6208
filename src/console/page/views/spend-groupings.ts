/** The groupings of the report on Spend, which are in the URL. */
import type { PageContext } from '../context.ts';
import { el } from '../dom.ts';
import type { Route } from '../route.ts';

const usual = ['model', 'key', 'group', 'channel', 'day', 'outcome'] as const;
const metadata = 'metadata.';

/** One grouping, and optionally a second one within it. */
export interface Groupings {
  readonly by: string;
  readonly second: string | undefined;
}

/** The groupings of a place. */
export function groupingsOf({ params }: Route): Groupings {
  const by = known(params.by) ?? 'model';
  const second = known(params.second);
  return { by, second: second === by ? undefined : second };
}

function known(name: string | undefined): string | undefined {
  if (name === undefined) return undefined;
  const isMetadata = name.startsWith(metadata) && name.length > metadata.length;
  return isMetadata ? name : usual.find((grouping) => grouping === name);
}

/** The two choices, and a field for the name of metadata. */
export interface GroupingControls {
  readonly node: HTMLElement;
  show(route: Route): void;
}

/** Creates the choices. */
export function groupingControls(page: PageContext): GroupingControls {
  const by = grouping('by', 'by');
  const second = grouping('second', 'then by');
  const apply = (): void =>
    page.go({ view: 'spend', params: { by: by.value(), second: second.value() } });
  by.onChange(apply);
  second.onChange(apply);
  return {
    node: el('div', { class: 'groupings' }, by.node, second.node),
    show: (route) => {
      const shown = groupingsOf(route);
      by.show(shown.by);
      second.show(shown.second ?? '');
    },
  };
}

function grouping(name: string, label: string) {
  const select = el(
    'select',
    { id: `grouping-${name}` },
    name === 'second' ? el('option', { value: '' }, 'nothing else') : undefined,
    usual.map((value) => el('option', { value }, value)),
    el('option', { value: metadata }, 'metadata …'),
  );
  const field = el('input', {
    'aria-label': `Name of the metadata, ${label}`,
    placeholder: 'name',
    maxlength: '128',
    autocomplete: 'off',
    hidden: true,
  });
  return {
    node: el('span', { class: 'grouping' }, el('label', { for: select.id }, label), select, field),
    value: () => (select.value === metadata ? `${metadata}${field.value.trim()}` : select.value),
    show: (value: string) => {
      const isMetadata = value.startsWith(metadata);
      select.value = isMetadata ? metadata : value;
      field.hidden = !isMetadata;
      field.value = isMetadata ? value.slice(metadata.length) : '';
    },
    onChange: (apply: () => void) => {
      field.addEventListener('change', apply);
      select.addEventListener('change', () => {
        field.hidden = select.value !== metadata;
        if (field.hidden) apply();
        else field.focus();
      });
    },
  };
}
