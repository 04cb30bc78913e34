/** Models of our own that make scripted calls, one list a turn, and then stop. */

import { BaseChatModel } from "@langchain/core/language_models/chat_models";
import { AIMessage } from "@langchain/core/messages";

let count = 0;

/** For LangChain.js, as its tests have it. */
export class ScriptedChatModel extends BaseChatModel {
  constructor(turns) {
    super({});
    this.turns = [...turns];
  }

  _llmType() {
    return "scripted";
  }

  bindTools() {
    return this;
  }

  async _generate() {
    const calls = (this.turns.shift() ?? []).map(([name, args]) => ({ name, args, id: `c${++count}`, type: "tool_call" }));
    const message = new AIMessage({ content: calls.length ? "" : "done", tool_calls: calls });
    return { generations: [{ text: "", message }] };
  }
}
