/** Sampling, limits and other settings of a request. */

import { createHash } from 'node:crypto';
import type { JsonValue } from '../../../src/json.ts';
import { builtIn, tool } from './parts.ts';
import type { RequestRow } from './request-rows.ts';
import { requestRow } from './wire-text.ts';

const reasons = (members: object) => ({
  reasoning: {
    effort: undefined,
    budgetTokens: undefined,
    includeThoughts: undefined,
    ...members,
  },
});
const own = (provider: string, name: string, value: JsonValue, vital = false, at = name) => ({
  provider,
  name,
  value,
  at,
  vital,
});
const long = 'u'.repeat(65);
const sha256 = (value: string) => createHash('sha256').update(value).digest('hex');

/** Settings of numbers, lists and names. */
export const settings: readonly RequestRow[] = [
  requestRow('nothing but a question', {})`
    chat <> {}
    chat > {} | to "gpt-5.6"
    chat < {temperature:null,n:null,stop:null,tool_choice:null}
    responses < {}
    responses < {text:{},reasoning:{},top_logprobs:0,store:false,metadata:{team:"a"}}
    responses < {background:false,truncation:"disabled",service_tier:"auto",include:[]}
    responses < {service_tier:"default",tool_choice:"none",parallel_tool_calls:false}
    responses < {reasoning:{context:"current_turn",mode:"standard"},max_tool_calls:3}
    responses < {reasoning:{context:"auto"},tool_choice:"auto",client_metadata:{a:"t"}}
    responses < {include:["reasoning.encrypted_content","message.input_image.image_url"]}
    responses < {include:["web_search_call.results"],prompt_cache_options:{prewarm:false}}
    responses < {stream_options:{include_obfuscation:true},text:{format:{type:"text"}}}
    messages <> {}
    messages < {speed:"standard",inference_geo:"global",mcp_servers:[],fallbacks:[]}
    messages < {context_management:{edits:[]},output_config:{},metadata:{}}
    messages < {tool_choice:{type:"auto",disable_parallel_tool_use:false}}
    messages < {tool_choice:{type:"none"},stop_sequences:[],temperature:-1}
    messages < {top_p:-1,top_k:-1}
    gemini <> {}
    gemini < {tools:[],safetySettings:[],labels:{},systemInstruction:""}
    gemini < {toolConfig:{functionCallingConfig:{mode:"MODE_UNSPECIFIED"}}}
    gemini < {generationConfig:{stopSequences:[],responseModalities:[],speechConfig:{}}}
    gemini < {generationConfig:{responseMimeType:"text/plain"}}
  `,
  requestRow('a stream', { streamed: true })`
    chat > {stream:true,stream_options:{include_usage:true}}
    chat > {stream:true} | to {includeUsage:false}
    messages > {stream:true}
    gemini > {}
  `,
  requestRow('a limit of the output', { maxOutputTokens: 5 })`
    chat <> {max_completion_tokens:5} | names {maxOutputTokens:"max_completion_tokens"}
    chat < {max_tokens:5} | names {maxOutputTokens:"max_tokens"}
    chat > {max_tokens:5} | to {maxTokensField:"max_tokens"}
    responses < {max_output_tokens:5}
    messages <> {max_tokens:5}
    messages > {max_tokens:5} | to {limit:9}
    gemini <> {generationConfig:{maxOutputTokens:5}}
    gemini < {generationConfig:{maxOutputTokens:"5"}}
  `,
  requestRow('no limit of the output, but one in the catalog', {})`
    messages > {max_tokens:9} | to {limit:9}
  `,
  requestRow('a temperature and top_p of 0', { temperature: 0, topP: 0 })`
    chat <> {temperature:0,top_p:0}
    chat > {} | lost temperature, top_p | to {sampling:"none"}
    chat > {temperature:0} | lost top_p | to {sampling:"one"}
    responses < {temperature:0,top_p:0}
    messages < {temperature:0,top_p:0}
    messages > {temperature:0,top_p:0} | to "claude-3-haiku"
    messages > {temperature:0} | lost top_p | to "claude-sonnet-4-5"
    messages > {} | lost temperature, top_p
    gemini <> {generationConfig:{temperature:0,topP:0}}
    gemini < {generationConfig:{temperature:"0",topP:0}}
  `,
  requestRow('top_p alone', { topP: 1 })`
    chat > {top_p:1} | to {sampling:"one"}
    messages > {top_p:1} | to "claude-sonnet-4-5"
  `,
  requestRow('a temperature beyond 2', { temperature: 3 })`
    messages > {temperature:1} | lost temperature | to "claude-3-haiku"
    gemini > {generationConfig:{temperature:2}} | lost temperature
  `,
  requestRow('top_k', { topK: 4 })`
    chat < {top_k:4}
    chat > {top_k:4} | to {topK:true}
    chat > {} | lost top_k
    messages < {top_k:4}
    messages > {top_k:4} | to "claude-3-haiku"
    messages > {} | lost top_k
    gemini <> {generationConfig:{topK:4}}
  `,
  requestRow('a seed of 0', { seed: 0 })`
    chat <> {seed:0}
    chat > {} | lost seed | to {seed:false}
    responses < {seed:0} | read ${{ seed: undefined }} | lost seed
    messages > {} | lost seed
    gemini <> {generationConfig:{seed:0}}
  `,
  requestRow('a seed of 33 bits', { seed: 2 ** 32 + 7 })`
    gemini > {generationConfig:{seed:7}} | lost seed
  `,
  requestRow('penalties', { presencePenalty: 0.5, frequencyPenalty: -1 })`
    chat <> {presence_penalty:0.5,frequency_penalty:-1}
    chat > {} | lost presence_penalty, frequency_penalty | to {penalties:false}
    messages > {} | lost presence_penalty, frequency_penalty
    gemini < {generationConfig:{presencePenalty:0.5,frequencyPenalty:-1}}
    gemini > {generationConfig:{presencePenalty:0.5,frequencyPenalty:-1}} | to "gemini-2.0-flash"
    gemini > {} | lost presence_penalty, frequency_penalty
  `,
  requestRow('penalties of 0', { presencePenalty: 0, frequencyPenalty: 0 })`
    chat > {} | to {penalties:false}
    messages > {}
    gemini > {}
  `,
  requestRow('stop sequences, one of them empty', { stop: ['END', '', 'b', ' '] })`
    chat < {stop:["END","","b"," "]}
    chat > {stop:["END","b"," "]} | lost stop
    chat > {stop:["END","b"]} | lost stop | to {stopLimit:2}
    chat > {} | lost stop | to {stopLimit:0}
    responses < {stop:["END"]} | read ${{ stop: [] }} | lost stop
    messages < {stop_sequences:["END","","b"," "]}
    messages > {stop_sequences:["END","b"]} | lost stop
    messages > {stop_sequences:["END"]} | lost stop | to {stopLimit:1}
    gemini < {generationConfig:{stopSequences:["END","","b"," "]}}
    gemini > {generationConfig:{stopSequences:["END","b"," "]}} | lost stop
  `,
  requestRow('one stop sequence', { stop: ['a'] })`
    chat <> {stop:["a"]}
    chat < {stop:"a"}
    messages <> {stop_sequences:["a"]}
    gemini <> {generationConfig:{stopSequences:["a"]}}
  `,
  requestRow('more stop sequences than a model takes', { stop: [...'abcdef'] })`
    chat > {stop:["a","b","c","d"]} | lost stop
    gemini > {generationConfig:{stopSequences:["a","b","c","d","e"]}} | lost stop
  `,
  requestRow('log probabilities', { logprobs: { top: 3 } })`
    chat <> {logprobs:true,top_logprobs:3}
    chat > {} | lost logprobs | to {logprobs:false}
    chat < {top_logprobs:2} | refused invalid_request top_logprobs
    responses < {top_logprobs:3}
    messages > {} | lost logprobs
    gemini <> {generationConfig:{responseLogprobs:true,logprobs:3}}
    gemini < {generationConfig:{logprobs:3}} | read ${{ logprobs: undefined }}
      | lost generationConfig.logprobs
  `,
  requestRow('log probabilities without alternatives', { logprobs: { top: undefined } })`
    chat <> {logprobs:true}
    responses < {include:["message.output_text.logprobs"]} | names {logprobs:"include[0]"}
    gemini <> {generationConfig:{responseLogprobs:true}}
  `,
  requestRow('more alternatives than there are', { logprobs: { top: 30 } })`
    chat > {logprobs:true,top_logprobs:20} | lost logprobs
    gemini > {generationConfig:{responseLogprobs:true,logprobs:20}} | lost logprobs
  `,
  requestRow('two candidates', { candidates: 2 })`
    chat <> {n:2}
    chat > {} | to {maxCandidates:1} | refused not_portable n
    responses < {n:2} | read ${{ candidates: 1 }} | lost n
    messages > {} | refused not_portable n
    gemini < {generationConfig:{candidateCount:2}}
    gemini > {generationConfig:{candidateCount:2}} | to "gemini-2.5-flash"
    gemini > {} | refused not_portable n
  `,
  requestRow('nine candidates', { candidates: 9 })`
    gemini > {} | to "gemini-2.5-flash" | refused not_portable n
  `,
  requestRow('two candidates in a stream', { candidates: 2, streamed: true })`
    chat > {} | to {streamedCandidates:false} | refused not_portable n
    gemini > {} | to "gemini-2.5-flash" | refused not_portable n
  `,
  requestRow('text output', { modalities: ['text'] })`
    chat < {modalities:["text"]}
    chat > {}
    messages > {}
    gemini < {generationConfig:{responseModalities:["TEXT"]}}
    gemini > {}
  `,
  requestRow('image output', { modalities: ['text', 'image'] })`
    chat < {modalities:["text","image"]}
    chat > {modalities:["text","image"]} | to {mediaOutput:true}
    chat > {} | refused not_portable modalities
    messages > {} | refused not_portable modalities
    gemini < {generationConfig:{responseModalities:["text","MODALITY_IMAGE"]}}
    gemini < {generationConfig:{responseModalities:["TEXT","IMAGE","MODALITY_UNSPECIFIED"]}}
    gemini > {generationConfig:{responseModalities:["TEXT","IMAGE"]}} | to {mediaOutput:true}
    gemini > {} | refused not_portable modalities
  `,
  requestRow('audio output', { modalities: ['text', 'audio'], streamed: true })`
    chat > {stream:true,stream_options:{include_usage:true},modalities:["text","audio"],audio:
      {voice:"alloy",format:"pcm16"}} | to {mediaOutput:true}
    messages > {} | refused not_portable modalities
    gemini > {generationConfig:{responseModalities:["AUDIO"]}} | to {mediaOutput:true}
  `,
  requestRow('the id of the end user', { endUserId: 'u' })`
    chat <> {user:"u"} | names {endUserId:"user"}
    chat < {safety_identifier:"u"} | names {endUserId:"safety_identifier"}
    responses < {user:"u"}
    responses < {safety_identifier:"u"} | names {endUserId:"safety_identifier"}
    responses < {safety_identifier:"u",user:"u"} | names {endUserId:"safety_identifier"}
    responses < {safety_identifier:"u",user:"b"} | lost user | names {endUserId:"safety_identifier"}
    messages > {metadata:{user_id:"u"}}
    messages < {metadata:{user_id:"u"}} | read ${{ promptCacheKey: sha256('u').slice(0, 32) }}
    messages < {metadata:
      {user_id:"uuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuu"}}
      | read ${{ endUserId: sha256(long), promptCacheKey: sha256(long).slice(0, 32) }}
    gemini > {} | lost user
  `,
  requestRow('the tier flex', { serviceTier: 'flex' })`
    chat <> {service_tier:"flex"}
    responses < {service_tier:"flex"}
    messages > {} | lost service_tier
    gemini < {serviceTier:"SERVICE_TIER_FLEX"}
    gemini < {serviceTier:"flex"}
    gemini > {} | lost service_tier
  `,
  requestRow('the usual tier', { serviceTier: 'default' })`
    chat <> {service_tier:"default"}
    messages <> {service_tier:"standard_only"}
    gemini < {serviceTier:"standard"}
    gemini > {}
  `,
  requestRow('the tier auto', { serviceTier: 'auto' })`
    chat <> {service_tier:"auto"}
    messages <> {service_tier:"auto"}
  `,
  requestRow('a tier that nobody has', { serviceTier: 'constructor' })`
    chat > {} | lost service_tier
    messages > {} | lost service_tier
    gemini < {serviceTier:"warp"} | read ${{ serviceTier: undefined }} | lost serviceTier
    gemini > {} | lost service_tier
  `,
  requestRow('the verbosity', { verbosity: 'low' })`
    chat < {verbosity:"low"}
    chat > {verbosity:"low"} | to "gpt-5.4"
    responses < {text:{verbosity:"low"}}
    messages > {} | lost verbosity
    gemini > {} | lost verbosity
  `,
  requestRow('the key of a cache', { promptCacheKey: 'k' })`
    chat > {prompt_cache_key:"k"}
    chat > {} | to {promptCacheKey:false}
    responses < {prompt_cache_key:"k"}
    messages > {}
    gemini > {}
  `,
  requestRow('one call at a time, without tools', { tools: [], parallelToolCalls: false })`
    chat < {parallel_tool_calls:false}
    chat > {} | lost parallel_tool_calls
    messages > {} | lost parallel_tool_calls
    gemini > {} | lost parallel_tool_calls
  `,
  requestRow('members that the reader dropped, and the same again', {
    dropped: ['store', 'top_k'],
    topK: 4,
    endUserId: 'u',
  })`
    chat > {user:"u"} | lost store, top_k
    messages > {metadata:{user_id:"u"}} | lost store, top_k
    gemini > {generationConfig:{topK:4}} | lost store, top_k, user
  `,
];

const safety = [{ category: 'A', threshold: 'B' }];

/** Members that only one provider understands. */
export const providerMembers: readonly RequestRow[] = [
  requestRow('safety settings', { providerMembers: [own('gemini', 'safetySettings', safety)] })`
    chat < {safety_settings:[{category:"A",threshold:"B"}]}
    chat < {extra_body:{safety_settings:[{category:"A",threshold:"B"}]}}
    chat < {extra_body:{google:{safety_settings:[{category:"A",threshold:"B"}]}}}
    chat > {} | lost safetySettings
    messages > {} | lost safetySettings
    gemini <> {safetySettings:[{category:"A",threshold:"B"}]}
  `,
  requestRow('cached content', { providerMembers: [own('gemini', 'cachedContent', 'c/1', true)] })`
    chat < {extra_body:{google:{cached_content:"c/1"}}}
    chat > {} | refused not_portable cachedContent
    messages > {} | refused not_portable cachedContent
    gemini <> {cachedContent:"c/1"}
  `,
  requestRow('a thinking config beside an effort', {
    ...reasons({ effort: 'low', includeThoughts: true }),
    providerMembers: [own('gemini', 'thinkingConfig', { thinkingBudget: 7 })],
  })`
    chat < {reasoning_effort:"low",extra_body:{google:{thinking_config:{thinking_budget:7}}}}
    gemini > {generationConfig:{thinkingConfig:{thinkingBudget:7,includeThoughts:true}}}
  `,
  requestRow('the voice', {
    providerMembers: [
      own('gemini', 'speechConfig', {
        voiceConfig: { prebuiltVoiceConfig: { voiceName: 'Kore' } },
      }),
    ],
  })`
    chat < {audio:{voice:"Kore"}}
    messages > {} | lost speechConfig
  `,
  requestRow('labels and settings of media', {
    providerMembers: [
      own('gemini', 'labels', { team: 'a' }),
      own('gemini', 'speechConfig', { languageCode: 'en' }),
      own('gemini', 'mediaResolution', 'LOW'),
    ],
  })`
    chat > {} | lost labels, speechConfig, mediaResolution
    gemini <> {labels:{team:"a"},generationConfig:{speechConfig:{languageCode:"en"},
      mediaResolution:"LOW"}}
  `,
  requestRow('output that only Google has', {
    providerMembers: [
      own('gemini', 'responseFormat[0].image', { aspectRatio: '1:1' }, true),
      own('gemini', 'responseMimeType', 'application/yaml', true),
      own('gemini', 'responseModalities', ['VIDEO'], true),
    ],
  })`
    chat > {} | refused not_portable responseFormat[0].image
    gemini < {generationConfig:{responseMimeType:"application/yaml",responseFormat:[{image:
      {aspectRatio:"1:1"}}],responseModalities:["VIDEO"]}}
  `,
  requestRow('a member of OpenAI', { providerMembers: [own('openai', 'prediction', 'low')] })`
    chat > {prediction:"low"}
    messages > {} | lost prediction
    gemini > {} | lost prediction
  `,
  requestRow('members of Anthropic, one of which is the gateway’s', {
    providerMembers: [own('anthropic', 'context_management', 'x'), own('anthropic', 'model', 'x')],
  })`
    chat > {} | lost context_management, model
    messages > {context_management:"x"} | lost model
    gemini > {} | lost context_management, model
  `,
  requestRow('a tool of a provider beside a choice', {
    tools: [tool('f'), builtIn('gemini', 'googleSearch')],
  })`
    chat > {} | refused not_portable tools[1]
    messages > {} | refused not_portable tools[1]
    gemini > {} | to "gemini-2.5-flash" | refused not_portable tools[1]
  `,
];
