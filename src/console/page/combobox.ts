/**
 * A field that completes what there is, such as the ids of keys, by the combobox pattern of ARIA.
 * Any other text may be written too: what is gone may still be in a log.
 */
import { isAborted } from './api.ts';
import { el, refill } from './dom.ts';

export type Combobox = ReturnType<typeof combobox>;

interface ComboboxInput {
  readonly name: string;
  readonly label: string;
  readonly placeholder: string;
  /** What there is for a text; an error is as good as none. */
  readonly options: (text: string, signal: AbortSignal) => Promise<readonly string[]>;
  /** The value was chosen, or written and left. */
  readonly changed: () => void;
}

/** How long a text must stay as it is before what there is for it is requested. */
const settledMs = 120;

export function combobox(given: ComboboxInput) {
  const id = `filter-${given.name}`;
  const input = inputOf(id, given.placeholder);
  const list = el('ul', {
    ...{ id: `${id}-list`, role: 'listbox', class: 'options', hidden: true },
    'aria-label': given.label,
  });
  const popup = new Popup(input, list, given);
  const node = el('div', { class: 'filter combobox' }, [
    el('label', { for: id, class: 'only-read' }, given.label),
    input,
    list,
  ]);
  return {
    node,
    value: () => input.value.trim(),
    /** Shows another value, unless it is being written. */
    show: (value: string): void => popup.show(value),
  };
}

function inputOf(id: string, placeholder: string): HTMLInputElement {
  return el('input', {
    ...{ id, role: 'combobox', autocomplete: 'off', spellcheck: 'false', maxlength: '256' },
    placeholder,
    'aria-autocomplete': 'list',
    'aria-controls': `${id}-list`,
    'aria-expanded': 'false',
  });
}

/** The list below the field, and the option that the arrow keys have reached. */
class Popup {
  readonly #input: HTMLInputElement;
  readonly #list: HTMLElement;
  readonly #given: ComboboxInput;
  #options: readonly string[] = [];
  #active = -1;
  /** The last value that was applied. */
  #applied = '';
  #loading: AbortController | undefined;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(input: HTMLInputElement, list: HTMLElement, given: ComboboxInput) {
    this.#input = input;
    this.#list = list;
    this.#given = given;
    input.addEventListener('focus', () => this.#loadSoon(0));
    input.addEventListener('click', () => this.#loadSoon(0));
    input.addEventListener('input', () => this.#loadSoon(settledMs));
    input.addEventListener('keydown', (event) => this.#onKey(event));
    input.addEventListener('blur', () => {
      this.#close();
      this.#apply(input.value);
    });
    // A press would move the focus, which closes the list before the click.
    list.addEventListener('pointerdown', (event) => event.preventDefault());
    list.addEventListener('click', ({ target }) => {
      if (!(target instanceof Element)) return;
      const option = target.closest('[role="option"]');
      if (option !== null) this.#choose([...list.children].indexOf(option));
    });
  }

  show(value: string): void {
    this.#applied = value;
    if (document.activeElement !== this.#input) this.#input.value = value;
  }

  #loadSoon(ms: number): void {
    clearTimeout(this.#timer);
    this.#loading?.abort();
    this.#timer = setTimeout(() => void this.#load(), ms);
  }

  async #load(): Promise<void> {
    const loading = new AbortController();
    this.#loading = loading;
    try {
      const options = await this.#given.options(this.#input.value.trim(), loading.signal);
      if (this.#loading === loading && document.activeElement === this.#input) this.#open(options);
    } catch (error) {
      if (!isAborted(error)) this.#close();
    }
  }

  #open(options: readonly string[]): void {
    const isChosen = options.length === 1 && options[0] === this.#input.value;
    this.#options = isChosen ? [] : options;
    const rows = this.#options.map((option, index) =>
      el(
        'li',
        { role: 'option', id: `${this.#list.id}-${index}`, 'aria-selected': 'false' },
        option,
      ),
    );
    refill(this.#list, rows);
    this.#list.hidden = rows.length === 0;
    this.#input.setAttribute('aria-expanded', String(rows.length > 0));
    this.#moveTo(-1);
  }

  #close(): void {
    clearTimeout(this.#timer);
    this.#loading?.abort();
    this.#loading = undefined;
    this.#open([]);
  }

  #moveTo(index: number): void {
    this.#active = index;
    for (const [at, row] of [...this.#list.children].entries()) {
      row.setAttribute('aria-selected', String(at === index));
      if (at === index) row.scrollIntoView({ block: 'nearest' });
    }
    if (index < 0) this.#input.removeAttribute('aria-activedescendant');
    else this.#input.setAttribute('aria-activedescendant', `${this.#list.id}-${index}`);
  }

  #choose(index: number): void {
    const value = this.#options[index];
    if (value === undefined) return;
    this.#input.value = value;
    // The name of a pair, whose values come next.
    if (value.endsWith('=')) return this.#loadSoon(0);
    this.#close();
    this.#apply(value);
  }

  #apply(text: string): void {
    const value = text.trim();
    if (value === this.#applied) return;
    this.#applied = value;
    this.#given.changed();
  }

  #onKey(event: KeyboardEvent): void {
    const count = this.#options.length;
    switch (event.key) {
      case 'ArrowDown':
      case 'ArrowUp': {
        event.preventDefault();
        if (count === 0) return this.#loadSoon(0);
        const step = event.key === 'ArrowDown' ? 1 : -1;
        // Below the last comes the field itself, then the first.
        const next = ((this.#active + 1 + step + count + 1) % (count + 1)) - 1;
        return this.#moveTo(next);
      }
      case 'Enter':
        event.preventDefault();
        if (this.#active >= 0) return this.#choose(this.#active);
        this.#close();
        return this.#apply(this.#input.value);
      case 'Escape':
        if (count === 0) return;
        event.preventDefault();
        return this.#close();
      default:
    }
  }
}
