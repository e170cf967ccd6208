/**
 * What the packages of OpenAI and Anthropic have in common: the ways to send a request, questions,
 * and conversations whose history the app keeps itself.
 */
import {
  type Answer,
  type AppTool,
  type Client,
  type Conversation,
  maxRounds,
  type Question,
  type Target,
} from './client.ts';

/** One way to send a request, which returns the whole reply. */
export interface Way<Sdk, Request, Reply> {
  /** As at the end of the clients' names: `create with stream`. */
  readonly name: string;
  readonly streams: boolean;
  send(sdk: Sdk, request: Request, options: SendOptions): Promise<Reply>;
}

/** What an app passes with a request. */
export interface SendOptions {
  readonly signal?: AbortSignal;
  /** Called with each piece of text of a streamed reply. */
  readonly onText?: (text: string) => void;
}

/** An API as its package presents it. `Item` is an element of the history. */
export interface SdkApi<Sdk, Request, Item, Reply> {
  sdkFor(target: Target): Sdk;
  questionRequest(model: string, question: Question): Request;
  conversationRequest(model: string, history: Item[], conversation: Conversation): Request;
  userMessage(prompt: string): Item;
  /** What the history gets of a reply. */
  said(reply: Reply): readonly Item[];
  /** What the history gets of the results of its calls; empty if it calls no tool. */
  results(reply: Reply, tools: readonly AppTool[]): readonly Item[];
  answerOf(reply: Reply): Answer;
}

/** A client for each way. `name` is the package and its version. */
export function sdkClients<Sdk, Request, Item, Reply>(
  name: string,
  api: SdkApi<Sdk, Request, Item, Reply>,
  ways: readonly Way<Sdk, Request, Reply>[],
): readonly Client[] {
  return ways.map(({ name: way, streams, send }) => ({
    name: `${name} ${way}`,
    streams,
    ask: async (target, question) => {
      const request = api.questionRequest(target.model, question);
      const answer = api.answerOf(await send(api.sdkFor(target), request, question));
      return withParsed(answer, question);
    },
    converse: (target, conversation) => {
      const sdk = api.sdkFor(target);
      return conversed(api, conversation, (history) =>
        send(sdk, api.conversationRequest(target.model, history, conversation), {}),
      );
    },
  }));
}

/** The answer with its object, which most ways leave to the app to parse. */
export function withParsed(answer: Answer, { structured }: Question): Answer {
  if (structured !== true) return answer;
  return { ...answer, parsed: answer.parsed ?? JSON.parse(answer.text) };
}

/** Runs the tools until the model stops calling them, for each of the prompts. */
async function conversed<Item, Reply>(
  api: Pick<SdkApi<never, never, Item, Reply>, 'userMessage' | 'said' | 'results' | 'answerOf'>,
  { prompts, tools }: Conversation,
  send: (history: Item[]) => Promise<Reply>,
): Promise<readonly string[]> {
  const history: Item[] = [];
  const answers: string[] = [];
  for (const prompt of prompts) {
    history.push(api.userMessage(prompt));
    answers.push(await answered());
  }
  return answers;

  async function answered(): Promise<string> {
    for (let round = 0; round < maxRounds; round += 1) {
      const reply = await send(history);
      history.push(...api.said(reply));
      const results = api.results(reply, tools);
      if (results.length === 0) return api.answerOf(reply).text;
      history.push(...results);
    }
    throw new Error('The model never stopped calling tools.');
  }
}
