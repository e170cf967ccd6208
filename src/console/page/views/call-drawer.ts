/**
 * One request: what it cost, the timeline of its attempts, and why it ended as it did. A call in
 * doubt can be resolved here.
 */
import {
  type Attempt,
  type CallDetail,
  type CallsOfRequest,
  failureOf,
  messageOf,
} from '../api.ts';
import { canManage, type PageContext } from '../context.ts';
import { type LoadedDrawer, loadedDrawer, problemText } from '../dialog.ts';
import { button, type Child, copyText, el, icon, refill } from '../dom.ts';
import { amountField } from '../field.ts';
import { durationText, moneyText, sentence, wordsOf } from '../format.ts';
import { empty, failure } from '../panel.ts';
import { callFacts, callMoney, outcomeBadge, outcomeHints, refusalFacts } from './call-facts.ts';
import { keysFound } from './keys/key-table.ts';

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
    problem: (error, again) => problem(error, again, page),
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

/** An unknown id is not a failure of the page; it may be that of a key or of its user. */
function problem(error: unknown, retry: () => void, page: PageContext): Child {
  if (failureOf(error)?.code === 'not_found') {
    return empty(
      el('p', {}, messageOf(error)),
      el('p', { class: 'hint' }, 'Ids are exact. Refusals are kept by the process that made them.'),
      keysFound(page, page.route().id ?? ''),
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
    el('div', {}, [
      outcomeBadge(call),
      el('p', { class: 'hint' }, sentence(outcomeHints[call.outcome] ?? call.outcome)),
      call.isInDoubt ? undefined : whyOf(call),
    ]),
    call.isInDoubt ? resolveForm(call, page, resolved) : undefined,
    callMoney(call),
    timeline(call),
    callFacts(call, page),
  ]);
}

function resolveForm(call: CallDetail, page: PageContext, done: () => void): HTMLElement {
  return el('section', { class: 'doubt', 'aria-label': 'In doubt' }, [
    el('h3', {}, icon('question'), 'Did this call run?'),
    el('p', {}, [
      'The gateway could not see how it ended. Look for it in the account of ',
      el('span', { class: 'id' }, call.channelId ?? 'the channel'),
      ` at the provider. Until then ${moneyText(call.heldNanos)} stays held.`,
    ]),
    canManage(page) ? choices(call, page, done) : undefined,
  ]);
}

function choices(call: CallDetail, page: PageContext, done: () => void): HTMLElement {
  const charge = amountField(`charge-${call.reservationId}`, 'Charge, if it ran', {
    placeholder: moneyText(call.heldNanos),
  });
  const problem = el('p', { class: 'problem', role: 'alert' });
  const resolve = async (ran: boolean): Promise<void> => {
    try {
      const isStated = ran && charge.value() !== '';
      const stated = isStated ? { chargeNanos: charge.nanos() } : {};
      const { requestId, reservationId } = call;
      const { status } = await page.api.post<{ readonly status: string }>(
        `/calls/${encodeURIComponent(requestId)}/resolve`,
        { ran, reservationId, ...stated },
      );
      page.announce(outcomeText(status, ran));
      done();
    } catch (error) {
      refill(problem, problemText(error));
    }
  };
  return el('div', { class: 'choices' }, [
    charge.node,
    button('It ran: charge it', () => void resolve(true), { 'data-focus': 'ran' }),
    button('It did not run: release', () => void resolve(false), { 'data-focus': 'not-ran' }),
    problem,
  ]);
}

function outcomeText(status: string, ran: boolean): string {
  if (status === 'already') return 'This call was resolved before.';
  return ran ? 'The call was charged.' : 'The hold was released.';
}

type Why = Pick<Attempt, 'reason' | 'meaning' | 'remedy'>;

function timeline({ attempts, durationMs }: CallDetail): HTMLElement {
  const tried = attempts.reduce((sum, attempt) => sum + attempt.durationMs, 0);
  const wholeMs = Math.max(1, durationMs, tried);
  let startMs = 0;
  const rows = attempts.map((attempt, index) => {
    const row = rowOf(attempt, index, startMs / wholeMs, attempt.durationMs / wholeMs);
    startMs += attempt.durationMs;
    return row;
  });
  return el('section', { class: 'timeline' }, [
    el('h3', {}, attempts.length === 1 ? '1 attempt' : `${attempts.length} attempts`),
    rows.length === 0 ? el('p', { class: 'hint' }, 'No channel was tried.') : el('ol', {}, rows),
  ]);
}

function rowOf(attempt: Attempt, index: number, start: number, share: number): HTMLElement {
  const { channelId, status, reason, mayHaveRun, durationMs } = attempt;
  const isServed = reason === null;
  const bar = el('span', { class: isServed ? 'span served' : 'span failed' });
  bar.style.marginLeft = `${(start * 100).toFixed(2)}%`;
  bar.style.width = `${Math.max(0.6, share * 100).toFixed(2)}%`;
  return el('li', {}, [
    el('p', { class: 'attempt-head' }, [
      icon(isServed ? 'ok' : 'bad'),
      el('span', { class: 'hint' }, `${index + 1}.`),
      el('span', { class: 'id' }, channelId),
      el('span', { class: 'attempt-status' }, status === null ? 'no reply' : String(status)),
      el('span', { class: 'attempt-time' }, durationText(durationMs)),
    ]),
    el('span', { class: 'track', 'aria-hidden': 'true' }, bar),
    isServed ? undefined : whyOf(attempt),
    mayHaveRun && !isServed
      ? el('p', { class: 'hint' }, 'It may have run, and the account may be billed for it.')
      : undefined,
  ]);
}

function whyOf({ reason, meaning, remedy }: Why): Child {
  const why = meaning ?? (reason === null ? undefined : wordsOf(reason));
  if (why === undefined) return undefined;
  return [
    el('p', { class: 'why' }, sentence(why)),
    remedy === null ? undefined : el('p', { class: 'hint' }, sentence(remedy)),
  ];
}
