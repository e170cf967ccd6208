/** The codecs of all dialects and protocols, loaded, for tests that use them without a gateway. */
import { dialects } from '../../src/dialects/table.ts';
import { protocols } from '../../src/protocols/table.ts';

/** What translations for upstreams of each dialect need. */
export const clientCodecs = {
  openai: await dialects.openai.codecs(),
  gemini: await dialects.gemini.codecs(),
  anthropic: await dialects.anthropic.codecs(),
};

/** The caller's side of translations for each API of content. */
export const serverCodecs = {
  chat: await protocols.chat.codecs(),
  responses: await protocols.responses.codecs(),
  messages: await protocols.messages.codecs(),
  native: await protocols.native.codecs(),
};
