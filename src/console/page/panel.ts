/**
 * The parts of a view. One that loads its own data is loading, shown, empty or failed: a failed
 * panel has its own error and a way to try again, and the rest of the page still works.
 */
import { isAborted, messageOf } from './api.ts';
import { button, type Child, el, icon, refill } from './dom.ts';

export interface Panel {
  readonly node: HTMLElement;
  /** Loads again; what is shown stays until the new data is there. */
  load(): void;
  close(): void;
}

interface PanelInput<T> {
  readonly title: string;
  /** What is loaded, as in `Loading calls …`. */
  readonly what: string;
  readonly tools?: Child;
  load(signal: AbortSignal): Promise<T>;
  render(data: T): Child;
}

/** Creates a panel, and loads it. */
export function panel<T>({ title, what, tools, load, render }: PanelInput<T>): Panel {
  const body = el('div', { class: 'panel-body' });
  const node = section(title, tools, body);
  let running: AbortController | undefined;
  const run = async (): Promise<void> => {
    running?.abort();
    const current = new AbortController();
    running = current;
    node.setAttribute('aria-busy', 'true');
    try {
      const data = await load(current.signal);
      if (running === current) refill(body, render(data));
    } catch (error) {
      if (running !== current || isAborted(error)) return;
      refill(
        body,
        failure(messageOf(error), () => void run()),
      );
    } finally {
      if (running === current) node.removeAttribute('aria-busy');
    }
  };
  body.append(loading(what));
  void run();
  return { node, load: () => void run(), close: () => running?.abort() };
}

export function section(title: string, tools: Child, ...content: readonly Child[]): HTMLElement {
  const controls = el('div', { class: 'tools' }, tools);
  return el('section', { class: 'panel', 'aria-label': title }, [
    el('div', { class: 'panel-head' }, el('h2', {}, title), controls),
    ...content,
  ]);
}

export function titledSection(heading: HTMLElement, ...content: readonly Child[]): HTMLElement {
  return el('section', { class: 'panel' }, el('div', { class: 'panel-head' }, heading), ...content);
}

/** A placeholder in the form of the content; after 300 ms a sentence replaces it. */
export function loading(what: string): HTMLElement {
  const bars = ['a', 'b', 'c'].map((name) => el('span', { class: `skeleton skeleton-${name}` }));
  return el('div', { class: 'loading', role: 'status' }, [
    el('div', { class: 'skeletons', 'aria-hidden': 'true' }, bars),
    el('p', { class: 'loading-text' }, `Loading ${what} …`),
  ]);
}

export function failure(message: string, retry: () => void): HTMLElement {
  return el('div', { class: 'failure', role: 'alert' }, [
    icon('bad'),
    el('p', {}, message),
    button('Retry', retry, { 'data-focus': 'retry' }),
  ]);
}

export function empty(...content: readonly Child[]): HTMLElement {
  return el('div', { class: 'empty' }, ...content);
}

type Fact = readonly [name: string, value: Child];

export function factList(title: string, facts: readonly Fact[]): HTMLElement {
  const known = facts.filter(([, value]) => value !== undefined && value !== '');
  return el('section', { class: 'facts' }, [
    el('h3', {}, title),
    el('dl', {}, [
      known.map(([name, value]) => el('div', {}, el('dt', {}, name), el('dd', {}, value))),
    ]),
  ]);
}
