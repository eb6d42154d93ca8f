// KEDA's questions by another gRPC: client.mjs HOST:PORT TASK [JSON]. Prints a line of JSON for each thing seen.
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import grpc from '@grpc/grpc-js';
import loader from '@grpc/proto-loader';

const [address, task, text] = process.argv.slice(2);
const options = text ? JSON.parse(text) : {};
const here = dirname(fileURLToPath(import.meta.url));
const proto = options.old ? join(here, 'old.proto') : join(here, '../../../src/scale/externalscaler.proto');
const { externalscaler } = grpc.loadPackageDefinition(loader.loadSync(proto, { keepCase: true, longs: Number, defaults: true }));
const read = (file) => (file ? readFileSync(file) : null);
const credentials = () => (options.ca
  ? grpc.credentials.createSsl(read(options.ca), read(options.key), read(options.cert))
  : grpc.credentials.createInsecure());
const connect = () => new externalscaler.ExternalScaler(address, credentials(), {
  'grpc.use_local_subchannel_pool': 1, 'grpc.enable_retries': 0, // each client a connection, each call once
  ...(options.ca ? { 'grpc.ssl_target_name_override': 'scaler.test' } : {}), // a name: addresses have none in TLS
});
const say = (value) => process.stdout.write(`${JSON.stringify(value)}\n`);
const failed = (error) => ({ code: error.code, details: error.details });

const object = (i, metadata) => ({ name: `object-${i}`, namespace: 'default', scalerMetadata: metadata ?? {} });
const deadline = () => ({ deadline: Date.now() + (options.deadline_ms ?? 20000) });
const call = (client, method, request) => new Promise((resolve) => {
  client[method](request, deadline(), (error, response) => resolve(error ? failed(error) : response));
});
const request = (method, c, i = 0) => (method === 'GetMetrics'
  ? { scaledObjectRef: object(i, c.metadata), metricName: c.name }
  : object(i, c.metadata));

// Each of `calls`, one after the other: [{method, metadata, name}].
const ask = async () => {
  const client = connect();
  for (const c of options.calls) say(await call(client, c.method, request(c.method, c)));
};

// What HPA and KEDA do with each object: the specification, then the value by the name that it gave, then activity.
const rounds = async () => {
  const client = connect();
  for (const c of options.calls) {
    const spec = await call(client, 'GetMetricSpec', request('GetMetricSpec', c));
    const name = spec.metricSpecs?.[0].metricName;
    say({ spec, value: await call(client, 'GetMetrics', { ...request('GetMetrics', c), metricName: name }),
      active: await call(client, 'IsActive', request('IsActive', c)) });
  }
};

const open = (client, i, onData, onEnd) => {
  const stream = client.StreamIsActive(object(i, options.metadata));
  stream.on('data', onData);
  stream.on('error', () => {});
  stream.on('status', (status) => onEnd(failed(status)));
  return stream;
};

// One stream, until it ends or stdin does.
const stream = async () => {
  const opened = open(connect(), 0, (message) => say(message), (end) => { say({ end }); process.exit(0); });
  say('open');
  process.stdin.resume();
  process.stdin.on('end', () => opened.cancel());
};

// A method that KEDA has and we do not.
const unknown = async () => {
  const client = new grpc.Client(address, credentials());
  client.makeServerStreamRequest('/externalscaler.ExternalScaler/StreamMetricSpec', () => Buffer.alloc(0), (bytes) => bytes, {})
    .on('error', () => {}).on('data', () => {}).on('status', (status) => { say(failed(status)); client.close(); });
};

// A connection for each call, as older clients have it.
const connections = async () => {
  const one = async (i) => {
    const client = connect();
    const seen = await call(client, options.method, request(options.method, options, i));
    client.close();
    return seen;
  };
  for (let round = 0; round < (options.rounds ?? 1); round++) {
    const seen = await Promise.all(Array.from({ length: options.count }, (_, i) => one(i)));
    for (const answer of seen) say(answer);
  }
};

// Objects times metrics on one connection beside parked streams: each of `rounds` asks all within `within_ms`.
const load = async () => {
  const client = connect();
  let pushed = 0;
  const parked = [];
  for (let i = 0; i < options.streams; i++) parked.push(open(client, i, () => { pushed++; }, () => {}));
  const wrong = {};
  let right = 0;
  const count = (answer) => {
    if (answer.metricValues?.length === 1 || typeof answer.result === 'boolean') right++;
    else wrong[answer.code ?? 'shape'] = (wrong[answer.code ?? 'shape'] ?? 0) + 1;
  };
  for (let round = 0; round < options.rounds; round++) {
    const asked = [];
    const begun = Date.now();
    const within = options.within_ms[Math.min(round, options.within_ms.length - 1)];
    for (let i = 0; i < options.objects; i++) {
      const ahead = begun + (i * within) / options.objects - Date.now();
      if (ahead > 1) await new Promise((resolve) => { setTimeout(resolve, ahead); });
      for (const metric of options.metrics)
        asked.push(call(client, 'GetMetrics', { ...request('GetMetrics', { metadata: metric.metadata }, i), metricName: metric.name }).then(count));
      asked.push(call(client, 'IsActive', object(i, options.metadata)).then(count));
    }
    await Promise.all(asked);
    say({ round, took_ms: Date.now() - begun, right, wrong, pushed });
  }
  process.stdin.resume();
  process.stdin.on('end', () => process.exit(0)); // streams stay parked until then
};

await { ask, rounds, stream, unknown, connections, load }[task]();
