// Calls that a program makes with Postmark's own client. Prints each answer as JSON, by its name.
import { ServerClient } from "postmark";

const [host, hookUrl] = process.argv.slice(2);
const options = { useHttps: false, requestHost: host, timeout: 30 };
const client = new ServerClient("a-server-token", options);
const answers = {};
const stream = "broadcast";

async function ask(name, call) {
  try {
    answers[name] = await call();
  } catch (error) {
    const { statusCode: status, code, message } = error;
    answers[name] = { error: error.name, status, code, message, inactive: error.recipients };
  }
  return answers[name];
}

function message(to) {
  return {
    From: "Homing <letter@example.org>",
    To: to,
    Subject: "Tide tables",
    HtmlBody: "<p>High water at seven.</p>",
    TextBody: "High water at seven.",
    Metadata: { delivery: "1" },
    MessageStream: stream,
  };
}

const hard = "hardbounce@bounce-testing.postmarkapp.com";
const sent = await ask("sent", () => client.sendEmail(message("reader@example.net")));
await ask("batch", () => client.sendEmailBatch([message(hard), message("no address")]));
await ask("inactive", () => client.sendEmail(message(hard)));
await ask("no_stream", () => client.sendEmail({ ...message("reader@example.net"), MessageStream: "x" }));
await ask("unverified", () => client.sendEmail({ ...message("reader@example.net"), From: "nobody" }));

const page = { count: 10, offset: 0, messageStream: stream };
await ask("search", () => client.getOutboundMessages({ ...page, metadata_delivery: "1" }));
await ask("details", () => client.getOutboundMessageDetails(sent.MessageID));
await ask("dump", () => client.getOutboundMessageDump(sent.MessageID));

const { Bounces: [bounce] } = await ask("bounces", () => client.getBounces(page));
await ask("bounce", () => client.getBounce(bounce.ID));
await ask("bounce_dump", () => client.getBounceDump(bounce.ID));
await ask("activated", () => client.activateBounce(bounce.ID));
await ask("missing_bounce", () => client.getBounce(1));
await ask("statistics", () => client.getDeliveryStatistics());

await ask("streams", () => client.getMessageStreams());
await ask("stream", () => client.getMessageStream(stream));
const blocked = { Suppressions: [{ EmailAddress: "left@example.net" }] };
await ask("suppressed", () => client.createSuppressions(stream, blocked));
await ask("suppressions", () => client.getSuppressions(stream));
await ask("lifted", () => client.deleteSuppressions(stream, blocked));

const hook = { Url: hookUrl, MessageStream: stream, Triggers: { Bounce: { Enabled: true } } };
const created = await ask("hook_created", () => client.createWebhook(hook));
await ask("hook", () => client.getWebhook(created.ID));
await ask("hook_edited", () => client.editWebhook(created.ID, { Triggers: { Delivery: { Enabled: true } } }));
await ask("hooks", () => client.getWebhooks({ messageStream: stream }));
await ask("hook_deleted", () => client.deleteWebhook(created.ID));
await ask("hook_missing", () => client.getWebhook(created.ID));
console.log(JSON.stringify(answers));
