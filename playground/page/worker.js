// Asks Lockgate beside the page, so that a long proof never stops somebody who types.
"use strict";

let lockgate;

onmessage = async ({ data }) => {
  if (data.module) {
    lockgate = WebAssembly.instantiate(data.module, {}).then((instance) => instance.exports);
    return;
  }
  const { number, question } = data;
  try {
    postMessage({ number, answer: answer(await lockgate, JSON.stringify(question)) });
  } catch (error) {
    postMessage({ number, broken: String(error) });
  }
};

function answer({ memory, lockgate_reserve, lockgate_ask, lockgate_answer }, text) {
  const question = new TextEncoder().encode(text);
  const room = lockgate_reserve(question.length);
  // The memory may grow while Lockgate works, so its buffer is looked up each time, and last.
  new Uint8Array(memory.buffer, room, question.length).set(question);
  const length = lockgate_ask();
  const told = lockgate_answer();
  return JSON.parse(new TextDecoder().decode(new Uint8Array(memory.buffer, told, length)));
}
