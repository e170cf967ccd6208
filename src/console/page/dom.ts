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

/** An element with its attributes and children. */
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

/** Flattens children and leaves out the undefined ones. */
function nodesOf(children: readonly Child[]): readonly (Node | string)[] {
  return children.flatMap((child) => {
    if (child === undefined) return [];
    return typeof child === 'string' || child instanceof Node ? [child] : nodesOf(child);
  });
}

/**
 * Replaces the content of an element. If an element with `data-focus` had the focus, the new
 * element with the same value gets it, so that a refresh does not lose the keyboard focus.
 */
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

/** A button that runs an action. */
export function button(
  label: Child,
  action: () => void,
  attributes: Attributes = {},
): HTMLButtonElement {
  const node = el('button', { type: 'button', class: 'button', ...attributes }, label);
  node.addEventListener('click', action);
  return node;
}

/** A link to a route. */
export function link(href: string, label: Child, attributes: Attributes = {}): HTMLAnchorElement {
  return el('a', { href, ...attributes }, label);
}

/** A time that shows its exact value in UTC as a tooltip. */
export function timeOf(ms: number, text: string): HTMLElement {
  const iso = new Date(ms).toISOString();
  return el('time', { datetime: iso, title: iso.replace('T', ' ').replace('Z', ' UTC') }, text);
}

/** Text for screen readers only. */
export function hiddenText(text: string): HTMLElement {
  return el('span', { class: 'only-read' }, text);
}
