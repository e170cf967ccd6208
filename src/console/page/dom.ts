/**
 * Builds elements and icons. Text goes in as text only, links lead only into this page or to its
 * own interface, and no attribute can carry a script or a style.
 */

/** What an element can contain; undefined is left out. */
export type Child = Node | string | undefined | readonly Child[];

type OfAll = 'class' | 'id' | 'title' | 'role' | 'tabindex' | `aria-${string}` | `data-${string}`;
type OfFields = 'type' | 'name' | 'value' | 'placeholder' | 'autocomplete' | 'spellcheck' | 'for';
type OfValues =
  | 'inputmode'
  | 'pattern'
  | 'maxlength'
  | 'list'
  | 'min'
  | 'max'
  | 'step'
  | 'rows'
  | 'accept';
type OfSwitches =
  | 'label'
  | 'selected'
  | 'checked'
  | 'disabled'
  | 'required'
  | 'readonly'
  | 'hidden'
  | 'open';
type OfOthers = 'href' | 'download' | 'scope' | 'colspan' | 'datetime' | `popover${'' | 'target'}`;
type AttributeName = OfAll | OfFields | OfValues | OfSwitches | OfOthers;

/** The attributes of an element; true is an attribute without a value, undefined and false none. */
export type Attributes = { readonly [Name in AttributeName]?: string | boolean | undefined };

export function el<Tag extends keyof HTMLElementTagNameMap>(
  tag: Tag,
  attributes: Attributes = {},
  ...children: readonly Child[]
): HTMLElementTagNameMap[Tag] {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined || value === false) continue;
    if (name === 'href' && !isOwnLink(String(value))) continue;
    node.setAttribute(name, value === true ? '' : value);
  }
  node.append(...nodesOf(children));
  return node;
}

/** A route of this page, or a file of its interface. */
function isOwnLink(href: string): boolean {
  if (href.startsWith('#/')) return true;
  const { protocol, origin } = new URL(href, document.baseURI);
  return /^https?:$/.test(protocol) && origin === location.origin;
}

function nodesOf(children: readonly Child[]): readonly (Node | string)[] {
  return children.flatMap((child) => {
    if (child === undefined) return [];
    return typeof child === 'string' || child instanceof Node ? [child] : nodesOf(child);
  });
}

/** The new element with the same `data-focus` value gets the focus that the old one had. */
export function refill(node: Element, ...children: readonly Child[]): void {
  const { activeElement } = document;
  const mark = node.contains(activeElement) ? activeElement?.getAttribute('data-focus') : null;
  node.replaceChildren(...nodesOf(children));
  if (mark === null || mark === undefined) return;
  const again = [...node.querySelectorAll('[data-focus]')].find(
    (candidate) => candidate.getAttribute('data-focus') === mark,
  );
  if (again instanceof HTMLElement) again.focus();
}

export function button(
  label: Child,
  action: () => void,
  attributes: Attributes = {},
): HTMLButtonElement {
  const node = el('button', { type: 'button', class: 'button', ...attributes }, label);
  node.addEventListener('click', action);
  return node;
}

export function link(href: string, label: Child, attributes: Attributes = {}): HTMLAnchorElement {
  return el('a', { href, ...attributes }, label);
}

export function timeOf(ms: number, text: string): HTMLElement {
  const iso = new Date(ms).toISOString();
  return el('time', { datetime: iso, title: iso.replace('T', ' ').replace('Z', ' UTC') }, text);
}

export function hiddenText(text: string): HTMLElement {
  return el('span', { class: 'only-read' }, text);
}

export function copyText(text: string, what: string, announce: (text: string) => void): void {
  const refused = (): void => announce('This browser does not allow copying. Select the text.');
  // Undefined on a page that is neither on HTTPS nor on localhost, despite its type.
  const clipboard: Clipboard | undefined = navigator.clipboard;
  if (clipboard === undefined) return refused();
  void clipboard.writeText(text).then(() => announce(`${what} was copied.`), refused);
}

const paths = {
  ok: 'M8 1.5a6.5 6.5 0 1 0 0 13a6.5 6.5 0 1 0 0-13M5 8.2l2.1 2.1L11 6.2',
  warn: 'M8 2L14.8 13.6H1.2ZM8 6.4v3.4M8 11.7v.1',
  bad: 'M5.3 1.5h5.4l3.8 3.8v5.4l-3.8 3.8H5.3l-3.8-3.8V5.3ZM5.8 5.8l4.4 4.4M10.2 5.8l-4.4 4.4',
  clock: 'M8 1.5a6.5 6.5 0 1 0 0 13a6.5 6.5 0 1 0 0-13M8 4.5V8l2.4 1.6',
  off: 'M8 1.5a6.5 6.5 0 1 0 0 13a6.5 6.5 0 1 0 0-13M5 8h6',
  down: 'M8 2.5v10M4 8.7l4 4l4-4',
  half: 'M8 1.5a6.5 6.5 0 1 0 0 13a6.5 6.5 0 1 0 0-13M8 1.5v13M10.5 3v10M12.8 4.8v6.4',
  question:
    'M8 1.5a6.5 6.5 0 1 0 0 13a6.5 6.5 0 1 0 0-13M6.1 6.3a1.9 1.9 0 1 1 1.9 2.4v.5M8 11.5v.1',
  key: 'M10.5 2a3.5 3.5 0 1 0 0 7a3.5 3.5 0 1 0 0-7M8 8l-6 6M3.6 12.4l1.6 1.6M5.8 10.2l1.4 1.4',
  store: 'M2.5 4c0-3 11-3 11 0v8c0 3-11 3-11 0ZM2.5 4c0 3 11 3 11 0M2.5 8c0 3 11 3 11 0',
  host: 'M2 3h12v8H2ZM5.5 14h5M8 11v3',
  money: 'M1.5 4h13v8h-13ZM8 6.2a1.8 1.8 0 1 0 0 3.6a1.8 1.8 0 1 0 0-3.6M4 6.5v3M12 6.5v3',
  search: 'M7 2a5 5 0 1 0 0 10a5 5 0 1 0 0-10M10.7 10.7L14.3 14.3',
  close: 'M3.5 3.5l9 9M12.5 3.5l-9 9',
  copy: 'M5.5 5.5h8v8h-8ZM10.5 5.5v-3h-8v8h3',
  next: 'M6 3l5 5l-5 5',
  plus: 'M8 3v10M3 8h10',
  download: 'M8 2v8M4.5 6.8L8 10.3l3.5-3.5M2.5 13.5h11',
} as const;

export type IconName = keyof typeof paths;

/** What a drawing is made of. Like the attributes of elements, these carry no script. */
type DrawnName = 'd' | 'x' | 'y' | 'fill' | 'stroke' | 'class' | 'viewBox' | 'text-anchor';
type DrawnAttributes = {
  readonly [Name in DrawnName | 'aria-hidden' | 'preserveAspectRatio' | 'vector-effect']?: string;
};

export function svg<Tag extends 'svg' | 'path' | 'text'>(
  tag: Tag,
  attributes: DrawnAttributes,
  ...children: readonly (Node | string)[]
): SVGElementTagNameMap[Tag] {
  const node = document.createElementNS('http://www.w3.org/2000/svg', tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  node.append(...children);
  return node;
}

export function icon(name: IconName): SVGSVGElement {
  const look = { viewBox: '0 0 16 16', class: `icon icon-${name}`, 'aria-hidden': 'true' };
  return svg('svg', look, svg('path', { d: paths[name] }));
}
