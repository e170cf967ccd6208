/** How to make a first call: a line for a shell, with a model of the catalog. */
import type { Model } from '../api.ts';
import type { PageContext } from '../context.ts';
import { button, copyText, el, icon } from '../dom.ts';
import { textField } from '../field.ts';
import { empty } from '../panel.ts';

/** The key that is written here stays in the page, and goes into the line only. */
export function firstCall(page: PageContext, text: string): HTMLElement {
  const key = textField('secret', 'Your key', {
    placeholder: '$KEY',
    hint: 'Stays in this page. Left empty, the line reads the variable KEY.',
  });
  const code = el('code', {});
  let model = 'MODEL';
  const line = (): string => curlLine(model, key.value() === '' ? '$KEY' : key.value());
  const draw = (): void => {
    code.textContent = line();
  };
  key.input.addEventListener('input', draw);
  draw();
  void firstModel(page).then((found) => {
    model = found ?? model;
    draw();
  });
  const copy = button([icon('copy'), 'Copy'], () => copyText(line(), 'The line', page.announce), {
    'data-focus': 'copy-line',
  });
  return empty(
    el('p', {}, text),
    el(
      'div',
      { class: 'first-call' },
      key.node,
      el('pre', { class: 'code', tabindex: '0' }, code),
      copy,
    ),
  );
}

async function firstModel({ api, session }: PageContext): Promise<string | undefined> {
  if (!session.capabilities.listModels) return undefined;
  try {
    const { data } = await api.get<{ readonly data: readonly Model[] }>('/channels');
    return data.map(({ modelId }) => modelId).find((id) => !id.includes('*'));
  } catch {
    return undefined;
  }
}

function curlLine(model: string, key: string): string {
  const body = JSON.stringify({ model, messages: [{ role: 'user', content: 'Hello' }] });
  return [
    `curl ${location.origin}/v1/chat/completions \\`,
    `  -H "authorization: Bearer ${key}" \\`,
    '  -H "content-type: application/json" \\',
    `  -d '${body.replaceAll("'", "'\\''")}'`,
  ].join('\n');
}
