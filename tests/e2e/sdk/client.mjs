// The OpenAI SDK as a client: client.mjs BASE_URL TASK [JSON]. Prints one JSON value.
import OpenAI from 'openai';

const [baseURL, task, text] = process.argv.slice(2);
const options = text ? JSON.parse(text) : {};
const client = new OpenAI({ baseURL, apiKey: options.key ?? 'sk-none', maxRetries: options.retries ?? 0 });
const body = (more = {}) => ({
  model: options.model ?? 'm',
  messages: [{ role: 'user', content: options.content ?? 'Say hello.' }],
  max_tokens: options.max_tokens ?? 16,
  ...more,
});

// What an application can see of an error.
const seen = (error) => ({
  class: error.constructor.name, // RateLimitError, NotFoundError …
  status: error.status ?? null,
  code: error.code ?? null,
  type: error.type ?? null,
  message: error.message,
  requestID: error.requestID ?? null,
});

const stream = async () => {
  const pieces = [];
  let finish = null;
  for await (const chunk of await client.chat.completions.create(body({ stream: true }))) {
    pieces.push(chunk.choices[0]?.delta?.content ?? '');
    finish = chunk.choices[0]?.finish_reason ?? finish;
  }
  return { events: pieces.length, text: pieces.join(''), finish };
};

const complete = async () => {
  const { data, response } = await client.chat.completions.create(body()).withResponse();
  return {
    text: data.choices[0].message.content, finish: data.choices[0].finish_reason, usage: data.usage,
    requestID: response.headers.get('x-request-id'),
  };
};

const tasks = {
  stream,
  complete,
  // Both kinds, several at once: as many as options.count each.
  many: async () => {
    const work = [];
    for (let i = 0; i < options.count; i += 1) work.push(stream(), complete());
    const settled = await Promise.allSettled(work);
    return settled.map((s) => (s.status === 'fulfilled' ? s.value : seen(s.reason)));
  },
  models: async () => (await client.models.list()).data.map((m) => m.id),
  model: async () => (await client.models.retrieve(options.model)).id,
  error: async () => {
    try {
      return { text: options.stream ? await stream() : await complete() };
    } catch (error) {
      return seen(error);
    }
  },
  // Leaves in the middle of a stream.
  abort: async () => {
    const running = await client.chat.completions.create(body({ stream: true }));
    let events = 0;
    for await (const chunk of running) {
      events += chunk.choices.length;
      if (events >= 2) break; // the SDK aborts the request
    }
    return { events };
  },
};

console.log(JSON.stringify(await tasks[task]()));
