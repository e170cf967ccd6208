/** One request: what it cost, the timeline of its attempts, and why it ended as it did. */
import { failureOf, messageOf } from '../api.ts';
import type { PageContext } from '../context.ts';
import { copyText } from '../copy.ts';
import { button, type Child, el } from '../dom.ts';
import { icon } from '../icons.ts';
import { type LoadedDrawer, loadedDrawer } from '../loaded-drawer.ts';
import { empty, failure } from '../panel.ts';
import type { CallDetail, CallsOfRequest } from '../wire.ts';
import { callFacts, callMoney, refusalFacts } from './call-facts.ts';
import { outcomeBadge } from './call-outcome.ts';
import { resolveForm } from './call-resolve.ts';
import { timeline, whyOf } from './call-timeline.ts';

/** Creates the closed sheet; `changed` is called after a call was resolved. */
export function callDrawer(page: PageContext, changed: () => void): LoadedDrawer {
  return loadedDrawer<CallsOfRequest>(page, {
    label: 'Request',
    view: 'calls',
    what: 'the request',
    title: (requestId) => titleOf(requestId, page),
    load: (requestId, signal) =>
      page.api.get(`/calls/${encodeURIComponent(requestId)}`, {}, signal),
    render: (found, again) =>
      partsOf(found, page, () => {
        changed();
        again();
      }),
    problem,
  });
}

function titleOf(requestId: string, { announce }: PageContext): Child {
  const copy = button(icon('copy'), () => copyText(requestId, 'The request id', announce), {
    class: 'quiet',
    'aria-label': 'Copy the request id',
    'data-focus': 'copy',
  });
  return [el('span', { class: 'id' }, requestId), copy];
}

/** An unknown id is not a failure of the page. */
function problem(error: unknown, retry: () => void): Child {
  if (failureOf(error)?.code === 'not_found') {
    return empty(
      el('p', {}, messageOf(error)),
      el('p', { class: 'hint' }, 'Ids are exact. Refusals are kept by the process that made them.'),
    );
  }
  return failure(messageOf(error), retry);
}

function partsOf(
  { calls, refusals }: CallsOfRequest,
  page: PageContext,
  resolved: () => void,
): Child {
  const note =
    calls.length + refusals.length > 1
      ? el('p', { class: 'note' }, 'Callers choose request ids: several requests have this one.')
      : undefined;
  return [
    note,
    calls.map((call) => callPart(call, page, resolved)),
    refusals.map((refusal) =>
      el('article', { class: 'request' }, [
        el('div', {}, outcomeBadge(refusal), whyOf(refusal)),
        refusalFacts(refusal, page),
      ]),
    ),
  ];
}

function callPart(call: CallDetail, page: PageContext, resolved: () => void): HTMLElement {
  return el('article', { class: 'request' }, [
    el('div', {}, outcomeBadge(call), call.isInDoubt ? undefined : whyOf(call)),
    call.isInDoubt ? resolveForm(call, page, resolved) : undefined,
    callMoney(call),
    timeline(call),
    callFacts(call, page),
  ]);
}
