/** Images, sources, log probabilities and other contents of replies. */
import type { ContentEvent } from '../../../src/canonical/reply.ts';
import type { JsonObject } from '../../../src/json.ts';
import { ends, says } from './parts.ts';
import type { ReplyRow } from './reply-rows.ts';
import { replyRow } from './wire-text.ts';

const stop = ends('stop');
const image = (data: string): ContentEvent => ({
  type: 'media',
  choice: 0,
  mimeType: 'image/png',
  data,
});
const audio = (data: string): ContentEvent => ({
  ...{ type: 'media', choice: 0, mimeType: 'audio/L16;rate=24000', data },
});
const png = 'iVBORw0KGgo=';
const citation = { url: 'https://a.test', title: 'A', start: 0, end: 1 };
const own = (
  provider: string,
  name: string,
  value: JsonObject | readonly JsonObject[],
): ContentEvent => ({
  ...{ type: 'provider_specific', choice: 0, provider, name, value },
});

/** Media and other contents. */
export const contents: readonly ReplyRow[] = [
  replyRow('an image', [image(png), stop])`
    chat > {message:{images:[{type:"image_url",image_url:{url:"data:image/png;base64,iVBORw0KGgo="},
      index:0}]},finish_reason:"stop"}
    chat < {message:{images:[{type:"image_url",image_url:
      {url:"data:image/png;base64,iVBORw0KGgo="}}]},finish_reason:"stop"}
    responses > {output:["image_generation_call: iVBORw0KGgo="]}
    messages > {content:[],stop_reason:"end_turn"} | lost content.image
    gemini <> {parts:[{inlineData:{mimeType:"image/png",data:"iVBORw0KGgo="}}],finishReason:"STOP"}
    gemini < {parts:[{inlineData:{mimeType:"image/png",data:"AAAA"},thought:true},{inlineData:
      {mimeType:"image/png",data:"iVBORw0KGgo="}}],finishReason:"STOP"}
  `,
  replyRow('an image by its URL', [
    says('a'),
    { type: 'media_url', choice: 0, url: 'https://a.test/a.png' },
    stop,
  ])`
    chat < {message:{content:"a",images:[{type:"image_url",image_url:
      {url:"https://a.test/a.png"}}]},finish_reason:"stop"}
    responses > {output:["message: a"]} | lost images
    messages > {content:[{type:"text",text:"a"}],stop_reason:"end_turn"} | lost content.image
  `,
  replyRow('audio in two pieces', [says('a'), audio('AQ=='), audio('Ag=='), stop])`
    chat > {message:{content:"a",audio:{id:"audio-chatcmpl-fallback",data:"AQI=",
      mime_type:"audio/L16;rate=24000",expires_at:1795177645,transcript:""}},finish_reason:"stop"}
      | whole
    responses > {output:["message: a"]} | lost audio
    messages > {content:[{type:"text",text:"a"}],stop_reason:"end_turn"} | lost content.audio
  `,
  replyRow('audio with its transcript', [
    says('Listen'),
    { type: 'media', choice: 0, mimeType: 'audio/wav', data: 'UklGRiQAAABXQVZF' },
    stop,
  ])`
    chat < {message:{audio:{data:"UklGRiQAAABXQVZF",transcript:"Listen"}},finish_reason:"stop"}
      | whole
  `,
  replyRow('a source of the text', [
    says('Look'),
    { type: 'citations', choice: 0, citations: [citation] },
    stop,
  ])`
    chat <> {message:{content:"Look",annotations:[{type:"url_citation",url_citation:{start_index:0,
      end_index:1,url:"https://a.test",title:"A"}}]},finish_reason:"stop"}
    responses > {output:["message: Look"]}
    messages > {content:[{type:"text",text:"Look"}],stop_reason:"end_turn"} | lost citations
    gemini > {parts:[{text:"Look"}],finishReason:"STOP",citationMetadata:{citationSources:
      [{uri:"https://a.test",title:"A"}]}} | lost annotations.start_index
  `,
  replyRow('log probabilities', [
    says('é'),
    {
      ...{ type: 'logprobs', choice: 0 },
      tokens: [{ token: 'é', logprob: -0.5, top: [{ token: 'e', logprob: -1 }] }],
    },
    stop,
  ])`
    chat <> {message:{content:"é"},finish_reason:"stop",logprobs:{content:[{token:"é",logprob:-0.5,
      bytes:[195,169],top_logprobs:[{token:"e",logprob:-1,bytes:[101]}]}],refusal:null}}
    chat < {message:{content:"é"},finish_reason:"stop",logprobs:{content:[{token:"é",logprob:-0.5,
      top_logprobs:[{token:"e",logprob:-1},7]},{token:"lost"}]}}
    responses > {output:["message: é"]}
    messages > {content:[{type:"text",text:"é"}],stop_reason:"end_turn"} | lost logprobs
    gemini <> {parts:[{text:"é"}],finishReason:"STOP",avgLogprobs:-0.5,logprobsResult:
      {chosenCandidates:[{token:"é",logProbability:-0.5}],topCandidates:[{candidates:[{token:"e",
      logProbability:-1}]}]}}
  `,
  replyRow('data of Google', [
    says('a'),
    own('gemini', 'grounding_metadata', { webSearchQueries: [] }),
    stop,
  ])`
    chat > {message:{content:"a",extra_content:{google:{grounding_metadata:{webSearchQueries:[]}}}},
      finish_reason:"stop"}
    responses > {output:["message: a"]} | lost grounding_metadata
    messages > {content:[{type:"text",text:"a"}],stop_reason:"end_turn"} | lost grounding_metadata
    gemini < {parts:[{text:"a"}],finishReason:"STOP",groundingMetadata:{webSearchQueries:[]}}
  `,
  replyRow('blocks of Anthropic', [
    says('a'),
    own('anthropic', 'blocks', [{ n: 1 }]),
    own('anthropic', 'blocks', [{ n: 2 }]),
    stop,
  ])`
    chat > {message:{content:"a",extra_content:{anthropic:{blocks:[{n:1},{n:2}]}}},
      finish_reason:"stop"}
    gemini > {parts:[{text:"a"}],finishReason:"STOP"} | lost blocks
  `,
];
