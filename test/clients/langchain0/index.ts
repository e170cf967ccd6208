/** What the tests use of LangChain 0.3, whose packages are installed in this folder. */
export { ChatAnthropic } from '@langchain/anthropic';
export { HumanMessage, SystemMessage, ToolMessage } from '@langchain/core/messages';
export { GoogleGenerativeAIEmbeddings } from '@langchain/google-genai';
export { OpenAIEmbeddings } from '@langchain/openai';
