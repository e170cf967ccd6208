/**
 * Builds elements. Text goes in as text only, links lead only into this page or to its own
 * interface, and no attribute can carry a script or a style.
 */

/** What an element can contain; undefined is left out. */
export type Child = Node | string | undefined | readonly Child[];

type AttributeName =
  | 'class'
  | 'id'
  | 'title'
  | 'href'
  | 'download'
  | 'type'
  | 'name'
  | 'value'
  | 'placeholder'
  | 'autocomplete'
  | 'inputmode'
  | 'pattern'
  | 'maxlength'
  | 'list'
  | 'min'
  | 'max'
  | 'step'
  | 'for'
  | 'role'
  | 'scope'
  | 'colspan'
  | 'tabindex'
  | 'datetime'
  | 'spellcheck'
  | 'selected'
  | 'checked'
  | 'disabled'
  | 'required'
  | 'readonly'
  | 'hidden'
  | 'open'
  | `aria-${string}`
  | `data-${string}`;

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
